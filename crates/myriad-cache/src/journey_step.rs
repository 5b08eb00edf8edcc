//! Journey of a page: the order of its steps, and the arguments of each step.
//!
//! ```text
//!             .--- no body yet: Gather
//!             v
//! begin -> LookUp -- fresh --------------> Serve -- body on disk -> Open -> Serve -> Done
//!             |   \-- not in memory -> Seek -> Load -> Read -> LookUp
//!             |   \-- policy: bypass ----> Pass -> Done
//!             |   \-- known visitor -----> Known -> Done, or Pass
//!             |   \-- expires soon ------> Refresh -> Serve
//!             v
//!           Stale -- may be served ------> Serve, or Refresh -> Serve
//!             |   \-- not shareable -----> Lead or Pass
//!             |   \-- too many queries --> Wait -> LookUp
//!             v
//!           Claim -- stored meanwhile ---> Serve
//!             |   \-- hit-for-miss ------> Lead or Pass
//!             v
//!           Follow -> Serve, Claim again, Pass, or Done
//! ```

use std::sync::Arc;
use std::time::Duration;

use myriad_policy::{BypassReason, CacheStatus};
use myriad_store::{FlightReader, PageFile};
use myriad_upstream::RequestPayload;
use tokio::sync::oneshot;

use crate::fetch::FetchReport;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::runtime::{CachePlace, OriginPlace};
use myriad_store::page::{Page, PageMeta};

/// Borrowed origin and cache, as a step receives them.
#[derive(Clone, Copy)]
pub(crate) struct CacheContext<'a> {
    /// The origin.
    pub origin: &'a Arc<OriginPlace>,
    /// The cache.
    pub cache: &'a Arc<CachePlace>,
}

impl CacheContext<'_> {
    /// Clones both references, so that they can be used across a wait.
    pub(crate) fn to_owned(self) -> OwnedCacheContext {
        OwnedCacheContext { origin: Arc::clone(self.origin), cache: Arc::clone(self.cache) }
    }

    /// Returns how long a page counts as updating, in milliseconds: the connect timeout plus the read timeout of a
    /// fetch.
    pub(crate) fn lease_ms(self) -> u64 {
        self.origin.fetch.timeouts.read_ms.saturating_add(self.origin.fetch.timeouts.connect_ms)
    }
}

/// Owned references to an origin and its cache, for use across a wait or by a fetch.
pub(crate) struct OwnedCacheContext {
    /// The origin.
    pub origin: Arc<OriginPlace>,
    /// The cache.
    pub cache: Arc<CachePlace>,
}

impl OwnedCacheContext {
    /// Borrows both for a step.
    pub(crate) fn get(&self) -> CacheContext<'_> {
        CacheContext { origin: &self.origin, cache: &self.cache }
    }
}

/// Result of a step of the journey: the next step with its arguments.
pub(crate) enum JourneyStep {
    /// The journey is complete.
    Done(PhaseStep),
    /// The page is looked up in memory.
    LookUp,
    /// The request of a known visitor, which may read a page that its origin has cut ([`crate::esi`]).
    Known,
    /// The request waits for this number of milliseconds (`origin_query_limit`); then the page is looked up again.
    Wait(u64),
    /// The request's body is read first, because the key may contain it.
    Gather,
    /// Memory has no page: the index of the disk is queried.
    Seek,
    /// The page may be in this file.
    Load(PageFile),
    /// The file is being read.
    Read(FlightReader<PageMeta>),
    /// The page is served.
    Serve(Page, CacheStatus),
    /// The page's body is too long for memory: its file is opened, then the page is served.
    Open(Page, CacheStatus),
    /// The page is served as it is and refreshed in the background.
    Refresh(Page, RefreshReason),
    /// No fresh page is stored; a stale page may be.
    Stale(Option<Page>),
    /// The page is fetched for all clients, by this request or by an earlier request; a stale page may replace a failed
    /// response.
    Claim(Option<Page>),
    /// The page is fetched without a lock; the response may replace the stale page.
    Lead(Option<Page>),
    /// The request waits for a page in flight.
    Follow(FlightWait),
    /// The request goes to the origin, and its response is for this client alone.
    Pass(PassReason),
    /// Like [`JourneyStep::PassStatus`], with a body that was too long to be read for the key.
    PassBody(RequestPayload),
}

/// Reason for a refresh in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefreshReason {
    /// The page is fresh and requested often: [`crate::early_refresh`].
    Early,
    /// The page is stale (`*_cache_background_update`).
    Stale,
}

/// Reason why the response is for one client alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassReason {
    /// The policy permits the request neither to read the cache nor to fill it.
    Bypass(BypassReason),
    /// `Connection` names header fields that the key or the variant may contain: [`crate::hidden_fields`].
    HiddenFields,
    /// The response will not be stored: [`crate::shared_fetch_headers::is_asked_alone`].
    Unstored,
    /// `*_cache_max_range_offset`.
    FarRange,
    /// `*_cache_min_uses`.
    Seldom,
    /// The page under the key is a slice of a response, and this request does not use slices.
    Piece,
    /// `*_cache_lock_timeout`.
    LockTimeout,
    /// The visitor is known, and the cache has no page that its origin has cut for known visitors ([`crate::esi`]).
    NotCut,
    /// The awaited response is unusable for this client, or is private to another client.
    NotShared,
}

impl PassReason {
    /// Returns a short description for logs and header fields.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Bypass(reason) => reason.as_str(),
            Self::HiddenFields => "connection names fields",
            Self::Unstored => "no_cache",
            Self::FarRange => "far range",
            Self::Seldom => "min_uses",
            Self::Piece => "piece",
            Self::LockTimeout => "lock_timeout",
            Self::NotCut => "personal cookie, page not cut",
            Self::NotShared => "not shared",
        }
    }
}

/// Page in flight, and the state of the request that waits for it.
pub(crate) struct FlightWait {
    /// Reader of the flight.
    pub reader: FlightReader<PageMeta>,
    /// Report of the fetch to the request that started it; `None` for other requests.
    pub report: Option<oneshot::Receiver<FetchReport>>,
    /// Stale page for the case of a failure.
    pub stale: Option<Page>,
    /// `*_cache_lock_timeout`; `None` if this request may wait without limit.
    pub timeout: Option<Duration>,
}
