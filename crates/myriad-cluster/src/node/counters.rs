//! Counters of a node.

/// Counters of the nodes of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCounters {
    /// Own purges.
    pub purges_requested: u64,
    /// Purges of other nodes that were applied.
    pub purges_applied: u64,
    /// Records appended.
    pub records_appended: u64,
    /// Records refused because another node had appended first.
    pub appends_refused: u64,
    /// Purges appended again after the log lost them.
    pub purges_repeated: u64,
    /// Receipts received.
    pub receipts: u64,
    /// Values refused because they are not authentic or invalid.
    pub values_refused: u64,
    /// Times that all pages became stale.
    pub everything_expired: u64,
    /// Times that the log had lost records that this node had applied, but still had an earlier one from which the node
    /// continued.
    pub rewinds: u64,
    /// Commands that failed.
    pub commands_failed: u64,
    /// Times that the log was empty although it had records before, and this node started it again.
    pub log_restarts: u64,
    /// Attempts to connect that failed.
    pub connects_failed: u64,
    /// Connections lost.
    pub disconnects: u64,
    /// Partitions detected.
    pub partitions: u64,
}
