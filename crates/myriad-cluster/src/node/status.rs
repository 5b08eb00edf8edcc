//! Status of a node, for `myriad cluster`, the API, the dashboard and metrics.

use std::sync::Arc;

use super::{NodeCounters, PartitionReport, Readiness};
use crate::record::{EntryId, NodeName};

/// Relation of a node to the log of purges.
///
/// ```text
///                     ┌───────────────── connection lost, from each state ─────────────────┐
///                     v                                                                    │
///   Disconnected ── Connected ──> Checking ── own record is in the log ──> Following ──────┤
///                     │             │  ^                                    │  ^  │         │
///        no position  │             │  └── common record found ──┐          │  │  └ record does not continue the chain
///                     v             v                            │          │  │         │
///                  Searching <── own record is missing           │          │  │         │
///                     │  │  └──────── newest common record ──────┘          │  │         │
///                     │  └── no common record: everything expires ──────────┼──┘         │
///                     │                                                     └──> Searching
///                     ├── the log is empty ──> Founding ── appended ──> Following
///                     │                           └─ refused ──> Searching
///                     └── only invalid entries, no position ──> Foreign ── after 5 s ──> Searching
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// No connection.
    Disconnected,
    /// A read checks that the record of the node's position is in the log.
    Checking,
    /// The log is read backwards for the newest record that the node has applied.
    Searching,
    /// The log is empty, and the node appends its first record.
    Founding,
    /// The log contains only entries of another secret.
    Foreign,
    /// New records are applied as they arrive.
    Following,
}

/// Status of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// Relation to the log.
    pub link: LinkState,
    /// Newest record that was read.
    pub read: Option<EntryId>,
    /// Newest record up to which all purges are applied and durable.
    pub applied: Option<EntryId>,
    /// Time for which this node may have missed purges, in milliseconds; `None` if not even a first check succeeded.
    pub behind_ms: Option<u64>,
    /// Rule for stored pages.
    pub readiness: Readiness,
    /// Description of the present partition; `None` if the node receives all purges.
    pub partition: Option<PartitionReport>,
    /// True if another process, which started later, uses the name of this node.
    pub is_name_taken: bool,
    /// False if the node has not read the list of members since its start; then `members` may lack some.
    pub members_known: bool,
    /// Other members in the order of their names.
    pub members: Vec<MemberStatus>,
    /// Own purges without all receipts, oldest first; at most 100.
    pub pending: Vec<PendingPurgeStatus>,
    /// Number of own purges without all receipts.
    pub pending_count: usize,
    /// Counters since the start of the process.
    pub counters: NodeCounters,
}

/// Member as another node sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberStatus {
    /// Name.
    pub node: NodeName,
    /// Address that the member reported; empty if only its name is known.
    pub address: String,
    /// Version of its software.
    pub software: String,
    /// State.
    pub presence: MemberPresence,
    /// Position up to which the member has applied all purges.
    pub applied: Option<EntryId>,
    /// Time since a new record of the member was seen, in milliseconds.
    pub seen_ms_ago: u64,
}

/// State of a member as another node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberPresence {
    /// The member renews its record.
    Active,
    /// The member has not renewed its record for [`super::NodeTimings::silent_ms`].
    Silent,
    /// The member was stopped.
    Left,
}

/// Own purge without all receipts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingPurgeStatus {
    /// Zone; empty for a purge of everything.
    pub zone: String,
    /// The purge, in the format of the cache; empty for all pages of the zone.
    pub body: Arc<[u8]>,
    /// Time since the purge was requested, or since the start if an earlier lifetime requested it, in milliseconds.
    pub age_ms: u64,
    /// ID of its record; `None` if the purge is not in the log.
    pub record: Option<EntryId>,
    /// Members without a receipt.
    pub missing: Vec<NodeName>,
}
