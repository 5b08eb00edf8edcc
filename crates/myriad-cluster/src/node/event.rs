//! Events: input of a node.

use crate::record::{EntryId, NodeName};

/// Number by which the caller recognizes the answer to its purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PurgeTicket(pub u64);

/// Number of a [`super::ClusterAction`] that the caller confirms when it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BatchNumber(pub u64);

/// Number of a command; its reply has the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommandNumber(pub u64);

/// Input of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterEvent {
    /// A purge was requested on this node, and is in effect in this node's memory: no hit returns a page that it
    /// covers. The caller must also send [`ClusterEvent::PurgeDurable`] once the purge survives a crash.
    Purge {
        /// Number for the answer; the caller does not use it again.
        ticket: PurgeTicket,
        /// Name of the zone.
        zone: String,
        /// The purge, in the format of the cache.
        body: Vec<u8>,
        /// Time after which the answer is given although receipts are missing, in milliseconds.
        wait_ms: u64,
    },
    /// The purge with this ticket is durable on this node. The node's position does not pass the purge before.
    PurgeDurable(PurgeTicket),
    /// The purge with this ticket is in effect in memory, but could not be made durable on this node. It is sent to the
    /// other nodes, and its answer has `is_saved` false. The node repeats it with [`super::ClusterAction::Apply`] until
    /// it is durable.
    PurgeNotSaved(PurgeTicket),
    /// [`super::ClusterAction::Apply`] or [`super::ClusterAction::ExpireEverything`] with this number is in effect and
    /// durable.
    Applied(BatchNumber),
    /// [`super::ClusterAction::Apply`] or [`super::ClusterAction::ExpireEverything`] with this number is in effect in
    /// memory, but could not be made durable. The node sends no receipts for its purges, and repeats them as an action
    /// with another number until they are durable.
    AppliedNotSaved(BatchNumber),
    /// [`super::ClusterAction::StorePosition`] with this number is complete; `is_stored` is false if it failed.
    PositionStored {
        /// Number of the action.
        number: BatchNumber,
        /// True if the file was written and synced.
        is_stored: bool,
    },
    /// Connections to Valkey are established.
    Connected,
    /// The connections are lost, or could not be established. Commands sent before get no reply.
    Disconnected,
    /// An attempt to connect failed; another one follows.
    NotConnected,
    /// Reply to a command.
    Reply {
        /// Number of the command.
        command: CommandNumber,
        /// The reply.
        reply: CommandReply,
    },
    /// Purges may have been executed on this node without being in the log, because a zone did not belong to the cluster.
    Gap,
    /// An administrator removes a member that will not return. If it runs nevertheless, it notices that, makes its pages
    /// stale, and joins again.
    Forget(NodeName),
    /// The process stops. The node sends what it can within two seconds, then returns
    /// [`super::ClusterAction::Stopped`].
    Shutdown {
        /// True if the node leaves the cluster until its next start, false if a successor takes over its name (reload,
        /// upgrade).
        is_leaving: bool,
    },
    /// The time of [`super::ClusterNode::next_deadline`] is reached.
    Tick,
}

/// Reply to a [`super::ClusterCommand`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandReply {
    /// Reply to `Read`.
    Read {
        /// Entries of the log in ascending order.
        entries: Vec<LogEntry>,
        /// Entries of this node's receipts in ascending order.
        receipts: Vec<LogEntry>,
    },
    /// Reply to `ReadBack`: entries of the log in descending order.
    ReadBack(Vec<LogEntry>),
    /// The record was appended.
    Appended,
    /// The record was not appended, because the newest entry is not the expected one, or its ID is not larger than all
    /// earlier ones.
    NotAppended {
        /// Largest ID that was ever in the log (`last-generated-id`); [`EntryId::ZERO`] without a log.
        last_id: EntryId,
    },
    /// Reply to `ReadMembers`: names and values of all fields. Names that are not valid names of nodes are left out.
    Members(Vec<(NodeName, Vec<u8>)>),
    /// The write was executed (`WriteMember`, `ForgetMember`, `RemoveMember`, `SendReceipt`, `Trim`).
    Written,
    /// Valkey refused the command.
    Failed(CommandError),
}

/// Entry of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// ID of the entry.
    pub id: EntryId,
    /// Value of the field `r`; empty if the entry has no such field.
    pub record: Vec<u8>,
}

/// Reason for which Valkey refused a command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CommandError {
    /// `OOM`: the memory limit is reached.
    OutOfMemory,
    /// `READONLY`, `MASTERDOWN`, `LOADING`, `NOREPLICAS`: this server does not accept commands at present.
    NotWritable,
    /// `NOAUTH`, `WRONGPASS`, `NOPERM`: the password or the ACL does not permit the command.
    Denied(String),
    /// The server does not have the command, or its reply has another form.
    Unsupported(String),
    /// `WRONGTYPE`: a key has another type.
    WrongType,
    /// Another error, with its text.
    Other(String),
}
