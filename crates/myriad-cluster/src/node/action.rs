//! Actions: output of a node.

use super::{BatchNumber, ClockMs, ClusterMessage, CommandNumber, ExpiryReason, PurgeTicket};
use crate::record::{ClusterPurge, EntryId, LogPosition, NodeName, RecordTag};

/// Output of a node. The caller executes actions in order, and reports those with a number when they are done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterAction {
    /// Send a command to Valkey. Commands without a waiting time are executed in this order on one connection; a `Read`
    /// with a waiting time requires a separate connection.
    Send {
        /// Number for the reply.
        command: CommandNumber,
        /// The command.
        what: ClusterCommand,
    },
    /// Close all connections and open new ones; then report `Connected`. Replies to earlier commands are ignored.
    Reconnect(ReconnectReason),
    /// Apply purges of other nodes in this order. A purge of an unknown zone has no effect and counts as applied.
    /// Report `Applied` when hits no longer return the purged pages and the purges are durable, or `AppliedNotSaved` if
    /// they could not be made durable. The list may have purges of this node whose save failed.
    Apply {
        /// Number for `Applied`.
        batch: BatchNumber,
        /// The purges; none is for everything.
        purges: Vec<ClusterPurge>,
    },
    /// Make all pages of all zones stale whose fetch began before this action is executed: pages in memory, pages on
    /// disk and pages in flight. No such page is served without a successful validation. Report `Applied` when that is
    /// in effect and durable, or `AppliedNotSaved` if it could not be made durable.
    ExpireEverything {
        /// Number for `Applied`.
        batch: BatchNumber,
        /// Reason, for the log.
        reason: ExpiryReason,
    },
    /// Change which stored pages are served. Before the first such action, [`Readiness::StaleBefore`] with the time of
    /// the start applies.
    SetReadiness(Readiness),
    /// Change which pages of other nodes are used ([`crate::gate::PageGate`]).
    SetPageRule {
        /// The rule.
        rule: PageRule,
        /// Tags of the records that the node has applied or is applying since the last such action, in their order.
        passed: Vec<RecordTag>,
    },
    /// Answer to a purge.
    Answer {
        /// Number of the purge.
        ticket: PurgeTicket,
        /// The answer.
        answer: PurgeAnswer,
    },
    /// Write the position file (temporary file, sync, rename), and report `PositionStored`.
    StorePosition {
        /// Number for `PositionStored`.
        number: BatchNumber,
        /// Contents of the file.
        contents: Vec<u8>,
    },
    /// Write a message to the error log. The caller limits repeated messages.
    Log(ClusterMessage),
    /// The node has stopped; it returns no further actions.
    Stopped,
}

/// Command for Valkey. The keys are those of the decision record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterCommand {
    /// `XREAD COUNT limit [BLOCK wait_ms] STREAMS purges receipts:NODE after receipts_after`; no `BLOCK` if `wait_ms`
    /// is 0. Reply: `Read`.
    Read {
        /// Entries of the log after this ID.
        after: EntryId,
        /// Entries of this node's receipts after this ID.
        receipts_after: EntryId,
        /// Maximum number of entries of each stream.
        limit: usize,
        /// Maximum time to wait for an entry, in milliseconds.
        wait_ms: u64,
    },
    /// `XREVRANGE purges before - COUNT limit`, with `+` if `before` is `None`, and with the exclusive form `(before`
    /// otherwise. Reply: `ReadBack`.
    ReadBack {
        /// Entries before this ID.
        before: Option<EntryId>,
        /// Maximum number of entries.
        limit: usize,
    },
    /// Append a record if the newest entry of the log is the expected one, as one atomic script (`EVAL`). Reply:
    /// `Appended` or `NotAppended`.
    Append {
        /// ID of the new entry.
        id: EntryId,
        /// Expected newest entry; `None` if the log must be empty or missing.
        expected: Option<LogTail>,
        /// Value of the field `r`.
        record: Vec<u8>,
        /// Approximate maximum number of records in the log (`MAXLEN ~`).
        max_records: u64,
    },
    /// `HGETALL members`. Reply: `Members`.
    ReadMembers,
    /// `HSET members NODE record` for this node. Reply: `Written`.
    WriteMember {
        /// The value.
        record: Vec<u8>,
    },
    /// `HSET members node record` for another node, which an administrator has removed. Reply: `Written`.
    ForgetMember {
        /// Name of the member.
        node: NodeName,
        /// The value.
        record: Vec<u8>,
    },
    /// `HDEL members node`. Reply: `Written`.
    RemoveMember {
        /// Name of the member.
        node: NodeName,
    },
    /// `XADD receipts:to MAXLEN ~ 1000 * r record` and `EXPIRE receipts:to 3600`. Reply: `Written`.
    SendReceipt {
        /// Node that requested the purges.
        to: NodeName,
        /// Value of the field `r`.
        record: Vec<u8>,
    },
    /// `XTRIM purges MINID ~ before`. Reply: `Written`.
    Trim {
        /// Entries before this ID are removed.
        before: EntryId,
    },
}

/// Newest entry of the log, as `Append` compares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogTail {
    /// ID of the entry.
    pub id: EntryId,
    /// Last 32 bytes of the value of its field `r`; the whole value if it is shorter.
    pub end: Vec<u8>,
}

impl LogTail {
    /// Returns the tail that a stream has whose newest entry is this one.
    pub fn of(id: EntryId, record: &[u8]) -> Self {
        Self { id, end: record[record.len().saturating_sub(32)..].to_vec() }
    }
}

/// Rule for stored pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Stored pages are served by the usual rules.
    Serving,
    /// A page whose fetch began before this time of the node's clock may have missed a purge, and is not served without
    /// validation. Pages stored before the node's start are older than every such time. `ClockMs::MAX`: no stored page
    /// is served without validation. The time is updated about once per second during a partition.
    StaleBefore(ClockMs),
}

/// Rule for pages of other nodes, as [`ClusterAction::SetPageRule`] sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageRule {
    /// Position in the log of purges that this node stores with pages whose fetch begins now; `None` if the node may
    /// neither store pages for others nor use theirs, because it may miss purges.
    pub position: Option<LogPosition>,
    /// Time after which a partition is detected and the position no longer applies, unless a later rule replaces this one.
    pub usable_until: ClockMs,
    /// True if the log up to the position has every purge that is in effect on this node.
    pub is_complete: bool,
    /// False if the node may have applied purges that the log has lost. Positions before and after have no common purges then.
    pub is_continuous: bool,
}

/// Reason for new connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconnectReason {
    /// A command has had no reply for too long.
    NoReply,
    /// The server does not accept writes; another one may have become the primary.
    NotWritable,
}

/// Answer to a purge: members that have applied it durably. The local node is not in the lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeAnswer {
    /// Members that have confirmed the purge, in the order of their names.
    pub applied: Vec<NodeName>,
    /// Members without a receipt.
    pub missing: Vec<MissingReceipt>,
    /// False if the node has not read the list of members since its start; then members may be missing in both lists.
    pub members_known: bool,
    /// True if the purge is in the log.
    pub is_in_log: bool,
    /// True if the purge is durable on this node; false if its save failed or is in progress.
    pub is_saved: bool,
    /// Time since the purge was requested, in milliseconds.
    pub elapsed_ms: u64,
}

/// Member that has not confirmed a purge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingReceipt {
    /// The member.
    pub node: NodeName,
    /// True if the member has not renewed its member record for [`super::NodeTimings::detection_ms`]. The answer does not
    /// wait for such members.
    pub is_silent: bool,
}
