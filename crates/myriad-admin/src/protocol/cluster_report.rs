//! Status of the cluster, as one node reports it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Error text for commands to a server without a cluster.
pub const NO_CLUSTER: &str = "this server belongs to no cluster: its configuration has no \"cluster\" block";

/// Status of a node of a cluster, and of the other nodes as this node sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterReport {
    /// Name of the cluster; empty if the server belongs to none.
    pub cluster: String,
    /// Name of this node.
    pub node: String,
    /// State of this node: `connected`, `catching_up`, `disconnected`, `wrong_secret` (the log of purges has only
    /// values of another secret), `name_taken` (another process uses the name of this node) or `none` (the server
    /// belongs to no cluster).
    pub state: String,
    /// True if stored pages are used by the usual rules; false if some are stale because they may have missed a purge.
    pub serves_stored_pages: bool,
    /// Time for which this node may have missed purges, in milliseconds; `None` if it has never been up to date.
    pub behind_ms: Option<u64>,
    /// Text about the present partition (this node may lack purges of other nodes): cause, consequences and remedy.
    /// `None` if this node receives all purges.
    pub partition: Option<String>,
    /// Valkey or Redis to which this node is or was connected; `None` before the first connection.
    pub server: Option<ServerReport>,
    /// Number of the newest record of the cluster's purge log up to which all purges are in effect and durable on this
    /// node; `None` before the first.
    pub position: Option<String>,
    /// True if this node has read the list of the cluster's nodes since its start; false if `members` may lack nodes.
    pub nodes_known: bool,
    /// Other nodes of the cluster, in the order of their names.
    pub members: Vec<MemberReport>,
    /// Purges of this node without all receipts, oldest first; at most 100.
    pub unconfirmed: Vec<UnconfirmedPurgeReport>,
    /// Number of purges of this node without all receipts.
    pub unconfirmed_count: u64,
    /// Exchange of pages with the other nodes: `active`, `off` (`pages off`), `suspended` (this node may have missed
    /// purges) or `unavailable` (no connection for pages, or commands fail).
    pub pages: String,
    /// Keys of TLS session tickets: `shared` with the other nodes, `local`, or `off` if no server issues tickets with
    /// generated keys.
    pub ticket_keys: String,
    /// Automatic certificates: `shared` with the other nodes, `local` (no connection to Valkey: this node orders them for
    /// itself if necessary), or `off` if no certificate is shared.
    pub certificates: String,
    /// Limits of requests and connections: `shared` with the other nodes, `local` (no connection to Valkey, or commands
    /// fail: this node limits alone), or `off` if no zone is shared.
    pub limits: String,
    /// Counters since the start of the process, by name; a reload does not reset them.
    pub counters: BTreeMap<String, u64>,
}

impl ClusterReport {
    /// Returns the report of a server that belongs to no cluster.
    pub(crate) fn of_no_cluster() -> Self {
        let off = || "off".to_owned();
        Self {
            state: "none".to_owned(),
            serves_stored_pages: true,
            pages: off(),
            ticket_keys: off(),
            certificates: off(),
            limits: off(),
            ..Self::default()
        }
    }
}

/// Valkey or Redis server of the cluster, as a node of the cluster sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerReport {
    /// URL of the server.
    pub url: String,
    /// `maxmemory` in bytes, 0 for no limit; `None` if the server does not permit `INFO`.
    pub maxmemory: Option<u64>,
    /// `maxmemory-policy`; `None` if the server does not permit `INFO`.
    pub maxmemory_policy: Option<String>,
    /// Undesirable effect of `maxmemory` and `maxmemory_policy`, with the remedy; `None` if there is none.
    pub warning: Option<String>,
}

/// Another node of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemberReport {
    /// Name of the node.
    pub node: String,
    /// Host name of the node's machine; empty if it is not known.
    pub address: String,
    /// Version of the node's software; empty if it is not known.
    pub software: String,
    /// State of the node: `active`, `silent` (no report for ten seconds) or `left` (stopped).
    pub state: String,
    /// Number of the newest record of the cluster's purge log up to which the node has executed all purges; `None` if
    /// it is not known.
    pub position: Option<String>,
    /// Time since the node's last report, in milliseconds.
    pub seen_ms_ago: u64,
}

/// Purge of this node that some nodes have not confirmed, or that this node has not saved yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnconfirmedPurgeReport {
    /// Name of the purged zone; empty for a purge of all zones.
    pub zone: String,
    /// Kind of the purge: `url`, `wildcard`, `regex`, `tags`, `key`, `all` or `unknown` (written by another version).
    pub kind: String,
    /// Description of the purged pages, such as `example.org/shop/`; `*` for all pages. At most about 500 bytes, without
    /// control characters.
    pub what: String,
    /// True if the pages become stale, false if they are removed.
    pub soft: bool,
    /// Time since the purge, in milliseconds.
    pub age_ms: u64,
    /// Number of the purge's record in the cluster's log; `None` if it is not in the log.
    pub record: Option<String>,
    /// Names of the other nodes that have not confirmed the purge; empty if only this node has not saved it yet.
    pub missing: Vec<String>,
}
