//! Publication of a zone's purges to the other nodes of a cluster.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::page::ClusterPages;

/// Sends the purges of zones to the other nodes of a cluster.
pub trait PurgePublisher: Send + Sync {
    /// Announces a purge of the zone named `zone`. To be called before the purge is in effect: pages of other nodes that
    /// it may cover are not used any more. `labels` are those of the covered URLs, tags ([`crate::page::PageMarks`])
    /// and keys ([`myriad_policy::Tags::label`] of the key); `None` if the purge may cover any page.
    fn announce(&self, zone: &str, labels: Option<&[u64]>) -> AnnouncedPurge;

    /// Hands over a purge of the zone named `zone` that is in effect on this node, and returns at once. `purge` is its
    /// binary form, which the other nodes decode. Returns `None` if no node will send it, because the server is shutting
    /// down, or a reload has removed the cluster.
    ///
    /// The other nodes receive the purge also if both parts of the returned value are dropped.
    fn publish(&self, zone: &str, purge: Vec<u8>, announced: AnnouncedPurge) -> Option<PublishedPurge>;

    /// Returns the store of pages that the nodes fetch for each other; `None` if they do not.
    fn pages(&self) -> Option<Arc<dyn ClusterPages>>;

    /// Returns the status of this node; `None` if it has stopped, or does not reply within two seconds. Blocks.
    fn status(&self) -> Option<PublisherStatus>;

    /// Returns the status of this node as of about one second ago; `None` shortly after the start, before there is one.
    /// Does not block.
    fn last_status(&self) -> Option<PublisherStatus>;

    /// Removes a node from the cluster, so that purges no longer wait for its receipt. For a node that will not return;
    /// a node that is running joins again.
    ///
    /// # Errors
    ///
    /// Returns a text for the administrator if `node` is not a valid name or not another node of the cluster, or if
    /// this node does not reply within two seconds.
    fn forget_node(&self, node: &str) -> Result<(), String>;
}

/// Status of a node of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublisherStatus {
    /// Name of the cluster.
    pub cluster: String,
    /// Name of this node.
    pub node: String,
    /// `connected`, `catching_up`, `disconnected`, `wrong_secret` if the log of purges has only values of another
    /// secret, or `name_taken` if another process uses the node's name.
    pub state: &'static str,
    /// True if stored pages are used by the usual rules; false if some are stale because they may have missed a purge.
    pub serves_stored_pages: bool,
    /// Time for which this node may have missed purges, in milliseconds; `None` if it has never been up to date.
    pub behind_ms: Option<u64>,
    /// Cause, consequences and remedy of the present partition; `None` if this node receives all purges.
    pub partition: Option<String>,
    /// Valkey to which this node is or was connected; `None` before the first connection.
    pub server: Option<ServerStatus>,
    /// Number of the newest record of the log up to which all purges are in effect and durable on this node; `None` if
    /// no such record is known.
    pub position: Option<String>,
    /// True if this node has read the list of the cluster's nodes since its start; false if `members` may lack nodes.
    pub are_nodes_known: bool,
    /// Other nodes, in the order of their names.
    pub members: Vec<ClusterMember>,
    /// Purges of this node without all receipts, oldest first; at most 100.
    pub unconfirmed: Vec<UnconfirmedPurge>,
    /// Number of purges of this node without all receipts.
    pub unconfirmed_count: u64,
    /// Exchange of pages with the other nodes: `active`, `off` (`pages off`), `suspended` (this node may have missed
    /// purges) or `unavailable` (no connection for pages, or commands fail).
    pub pages: &'static str,
    /// Keys of TLS session tickets: `shared` with the other nodes, `local`, or `off` if no server issues tickets with
    /// generated keys.
    pub ticket_keys: &'static str,
    /// Automatic certificates: `shared` with the other nodes, `local` (no connection to Valkey: this node orders them for
    /// itself if necessary), or `off` if no certificate is shared.
    pub certificates: &'static str,
    /// Limits of requests and connections: `shared` with the other nodes, `local` (no connection to Valkey: this node
    /// limits alone), or `off` if no zone is shared.
    pub limits: &'static str,
    /// Names and values of counters since the start of the process; a reload does not reset them.
    pub counters: Vec<(&'static str, u64)>,
}

/// Valkey or Redis, as a node of the cluster sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerStatus {
    /// Address.
    pub url: String,
    /// `maxmemory` in bytes, 0 for no limit; `None` if the server does not permit to read it.
    pub memory_limit: Option<u64>,
    /// `maxmemory-policy`; `None` if the server does not permit to read it.
    pub memory_policy: Option<String>,
    /// Effect of these settings that the administrator should prevent, with the remedy; `None` if there is none.
    pub warning: Option<String>,
}

/// Another node of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterMember {
    /// Name of the node.
    pub node: String,
    /// Host name of its machine; empty if it is not known.
    pub address: String,
    /// Version of its software; empty if it is not known.
    pub software: String,
    /// `active`, `silent` if it has not reported for ten seconds, or `left` if it was stopped.
    pub state: &'static str,
    /// Number of the newest record of the log up to which the node has executed all purges; `None` if it is not known.
    pub position: Option<String>,
    /// Time since the last report of the node, in milliseconds.
    pub seen_ms_ago: u64,
}

/// Purge that some nodes have not confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnconfirmedPurge {
    /// Zone; empty for a purge of all zones.
    pub zone: String,
    /// Kind of the purge, as in the list of purges; `unknown` if another version of Myriad has written it.
    pub kind: &'static str,
    /// Description of the purged pages; at most about 500 bytes, without control characters.
    pub what: String,
    /// True if the pages become stale, false if they are removed.
    pub soft: bool,
    /// Time since the purge, in milliseconds.
    pub age_ms: u64,
    /// Number of the purge's record in the log of purges; `None` if the log does not contain the purge.
    pub record: Option<String>,
    /// Names of the nodes that have not confirmed the purge.
    pub missing: Vec<String>,
}

/// Announcement of a purge, returned by [`PurgePublisher::announce`]. Dropping it means that the announcement is no
/// longer needed: the publisher has received the purge, or will never receive it.
pub struct AnnouncedPurge(Option<Box<dyn FnOnce() + Send>>);

impl AnnouncedPurge {
    /// Creates an announcement that calls `on_drop` when it is dropped.
    pub fn new(on_drop: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(on_drop)))
    }
}

impl Drop for AnnouncedPurge {
    fn drop(&mut self) {
        if let Some(on_drop) = self.0.take() {
            on_drop();
        }
    }
}

/// Purge that was handed over to a [`PurgePublisher`].
pub struct PublishedPurge {
    /// Function that must be called once the purge survives a crash of this node (with true), or could not be saved
    /// (with false). It does not block.
    pub saved: Box<dyn FnOnce(bool) + Send>,
    /// Receipts of the other nodes. The future completes when all nodes have applied the purge, or when the time limit
    /// of the cluster for receipts has passed.
    pub receipts: ReceiptsFuture,
}

/// Future that returns the receipts of a published purge.
pub type ReceiptsFuture = Pin<Box<dyn Future<Output = PurgeReceipts> + Send>>;

/// Nodes of a cluster that have confirmed a purge, and nodes that have not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeReceipts {
    /// Names of the nodes on which the purge is in effect, including this node.
    pub applied: BTreeSet<String>,
    /// Names of the nodes of the cluster that have not confirmed the purge.
    pub missing: BTreeSet<String>,
    /// True if this node has read the list of the cluster's nodes since its start. If false, `missing` may lack nodes.
    pub are_nodes_known: bool,
    /// True if the purge is in the cluster's log of purges. If false, this node sends it later.
    pub is_sent: bool,
    /// Time from the publication of the purge until the last receipt arrived or the waiting time had passed.
    pub elapsed: Duration,
}

impl PurgeReceipts {
    /// Combines the receipts of two purges. A node counts as missing if it has not confirmed both; the longer waiting
    /// time is used.
    #[must_use]
    pub fn and(mut self, other: PurgeReceipts) -> PurgeReceipts {
        self.missing.extend(other.missing);
        self.applied.extend(other.applied);
        self.applied.retain(|node| !self.missing.contains(node));
        self.are_nodes_known &= other.are_nodes_known;
        self.is_sent &= other.is_sent;
        self.elapsed = self.elapsed.max(other.elapsed);
        self
    }
}

/// Writes the receipts as a phrase, such as `applied on 3 of 3 nodes in 4 ms` or `applied on 2 of 3 nodes; no receipt
/// from web3 within 1000 ms`. The number of all nodes is written only if it is known.
impl std::fmt::Display for PurgeReceipts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (applied, ms) = (self.applied.len(), self.elapsed.as_millis());
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        if self.are_nodes_known {
            let all = applied + self.missing.len();
            write!(f, "applied on {applied} of {all} node{}", plural(all))?;
        } else {
            write!(f, "applied on {applied} node{}", plural(applied))?;
        }
        if self.missing.is_empty() {
            write!(f, " in {ms} ms")?;
        } else {
            let missing: Vec<&str> = self.missing.iter().map(String::as_str).collect();
            write!(f, "; no receipt from {} within {ms} ms", missing.join(", "))?;
        }
        if !self.are_nodes_known {
            f.write_str(
                "; the other nodes are not known, because this node has not read their list from Valkey",
            )?;
        }
        if !self.is_sent {
            f.write_str("; the purge waits for Valkey and is sent to the other nodes later")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipts(applied: &[&str], missing: &[&str], ms: u64) -> PurgeReceipts {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        PurgeReceipts {
            applied: names(applied),
            missing: names(missing),
            are_nodes_known: true,
            is_sent: true,
            elapsed: Duration::from_millis(ms),
        }
    }

    #[test]
    fn receipts_name_the_nodes_that_are_missing() {
        assert_eq!(receipts(&["a", "b", "c"], &[], 4).to_string(), "applied on 3 of 3 nodes in 4 ms");
        assert_eq!(receipts(&["a"], &[], 0).to_string(), "applied on 1 of 1 node in 0 ms");
        assert_eq!(
            receipts(&["a"], &["web2", "web3"], 1000).to_string(),
            "applied on 1 of 3 nodes; no receipt from web2, web3 within 1000 ms"
        );
    }

    #[test]
    fn receipts_claim_completeness_only_if_all_nodes_are_known_and_the_purge_is_sent() {
        let known = receipts(&["a"], &["web2"], 1000);
        let waiting = PurgeReceipts { is_sent: false, ..known.clone() };
        assert_eq!(
            waiting.to_string(),
            "applied on 1 of 2 nodes; no receipt from web2 within 1000 ms; the purge waits for Valkey and is sent to \
             the other nodes later"
        );
        let alone = PurgeReceipts { are_nodes_known: false, is_sent: false, ..receipts(&["a"], &[], 5) };
        assert_eq!(
            alone.to_string(),
            "applied on 1 node in 5 ms; the other nodes are not known, because this node has not read their list \
             from Valkey; the purge waits for Valkey and is sent to the other nodes later"
        );
        let both = known.and(alone);
        assert!(!both.are_nodes_known && !both.is_sent);
    }

    #[test]
    fn node_that_misses_one_of_two_purges_is_missing() {
        let both = receipts(&["a", "b"], &[], 4).and(receipts(&["a"], &["b"], 9));
        assert_eq!(both, receipts(&["a"], &["b"], 9));
    }
}
