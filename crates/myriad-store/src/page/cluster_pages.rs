//! Pages that the nodes of a cluster fetch for each other.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::page::{Page, PageMeta};

/// Maximum length of the body of a page that other nodes can use, in bytes.
pub const MAX_CLUSTER_BODY: u64 = 1 << 20;

/// Store in which the nodes of a cluster find the pages that other nodes have fetched.
pub trait ClusterPages: Send + Sync {
    /// Searches for a page, or acquires the right to fetch it. While another node fetches the page, waits for the result,
    /// for at most [`ClusterPageRequest::max_wait`].
    fn find(self: Arc<Self>, request: ClusterPageRequest) -> ClusterPageFuture;
}

/// Future that returns the result of [`ClusterPages::find`]. It never fails: without a connection to the store, the
/// result is [`ClusterPageResult::Fetch`].
pub type ClusterPageFuture = Pin<Box<dyn Future<Output = ClusterPageResult> + Send>>;

/// Page that a node needs.
#[derive(Clone, Debug)]
pub struct ClusterPageRequest {
    /// Name of the zone.
    pub zone: String,
    /// Cache key.
    pub key: Vec<u8>,
    /// Time after which the page must have been stored, in milliseconds since the epoch: that of the page which it
    /// replaces; 0 if any page is usable.
    pub newer_than: u64,
    /// Maximum time to wait for another node that fetches the page.
    pub max_wait: Duration,
}

/// Result of [`ClusterPages::find`].
pub enum ClusterPageResult {
    /// Another node has fetched the page.
    Found(Box<ClusterPage>),
    /// This node must fetch the page. Other nodes wait for it while the lease exists; `None` if this node has none.
    Fetch(Option<Box<dyn PageLease>>),
}

/// Page that another node has fetched.
pub struct ClusterPage {
    /// Metadata, with times of this node's clock.
    pub meta: PageMeta,
    /// Body without content coding.
    pub body: Bytes,
    /// Time at which the other node stored the page, in milliseconds since the epoch.
    pub stored_at: u64,
}

/// Right to fetch a page for all nodes of the cluster. Dropping it releases the lease: the nodes that wait fetch the page
/// themselves.
pub trait PageLease: Send {
    /// Stores the fetched page for the other nodes, in the background, and wakes those that wait for it. A page that
    /// they cannot use (a variant, one that is too long) is not stored.
    fn store(self: Box<Self>, page: &Page);
}
