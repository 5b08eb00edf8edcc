//! Messages of a node for the error log.

use std::fmt;

use super::{CommandError, PartitionReport};
use crate::record::{EntryId, NodeName, RecordError};

/// Reason for which all pages become stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpiryReason {
    /// The node has stored pages, but no valid position file.
    NoPosition,
    /// The log no longer has the records after the node's position, or it was replaced.
    Gap,
    /// A record was written by a newer version.
    NewerVersion,
    /// A purge of everything is in the log.
    Requested,
    /// Too many purges could not be saved.
    NotSaved,
    /// An administrator has removed this node from the cluster.
    Removed,
}

impl fmt::Display for ExpiryReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoPosition => "pages were stored, but the position in the purge log is unknown",
            Self::Gap => "the purge log no longer contains all purges since this node's position",
            Self::NewerVersion => "a purge was written by a newer version of Myriad",
            Self::Requested => "a purge of everything is in the log",
            Self::NotSaved => "too many purges could not be saved",
            Self::Removed => "this node was removed with \"myriad cluster forget\" and joins again",
        })
    }
}

/// Message for the error log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterMessage {
    /// An entry of the log is not a record of this cluster.
    InvalidRecord {
        /// ID of the entry.
        id: EntryId,
        /// Reason.
        error: RecordError,
    },
    /// A value in the list of members is not a member record.
    InvalidMember {
        /// Name of the member.
        node: NodeName,
        /// Reason.
        error: RecordError,
    },
    /// A receipt is invalid.
    InvalidReceipt(RecordError),
    /// The position file is invalid.
    InvalidPosition(RecordError),
    /// The log contains only entries that are not records of this cluster.
    ForeignLog,
    /// All pages become stale.
    EverythingExpired(ExpiryReason),
    /// The log lost records that this node has applied. The pages of this node remain valid.
    LogRewound {
        /// Position of this node.
        from: EntryId,
        /// Newest common record.
        to: EntryId,
    },
    /// The log was empty; this node started it again. The pages of nodes at the same position remain valid.
    LogRestarted(EntryId),
    /// A command failed.
    CommandFailed {
        /// Name of the command.
        command: &'static str,
        /// Reason.
        error: CommandError,
    },
    /// A command has had no reply for too long.
    NoReply,
    /// Another process, which started later, uses the name of this node.
    NameTaken {
        /// The name.
        node: NodeName,
        /// Address of the other process.
        address: String,
    },
    /// The other process with the name of this node has stopped.
    NameFree,
    /// The node does not receive all purges; pages are limited to the age that `partition` permits.
    Partitioned(PartitionReport),
    /// The node receives all purges again.
    PartitionEnded,
    /// A member was removed because it was silent for too long.
    MemberRemoved(NodeName),
    /// A purge is too large for the log, and was replaced by a purge of all pages of its zone.
    PurgeTooLarge(usize),
    /// Too many purges wait for the log, and were replaced by purges of all pages of their zones.
    TooManyPurges,
    /// The position file could not be written.
    PositionNotStored,
    /// Purges are in effect, but could not be made durable.
    PurgesNotSaved,
}

impl ClusterMessage {
    /// Returns true for an event of normal operation, false for a problem.
    pub fn is_notice(&self) -> bool {
        matches!(
            self,
            Self::LogRewound { .. }
                | Self::LogRestarted(_)
                | Self::NameFree
                | Self::PartitionEnded
                | Self::MemberRemoved(_)
                | Self::EverythingExpired(ExpiryReason::Requested)
        )
    }
}

impl fmt::Display for ClusterMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidRecord { id, error } => write!(
                f,
                "entry {id} of the purge log ignored: {error}; check that all nodes have the same secret and that no other program writes to this key"
            ),
            Self::InvalidMember { node, error } => write!(f, "member record of \"{node}\" ignored: {error}"),
            Self::InvalidReceipt(error) => write!(f, "receipt ignored: {error}"),
            Self::InvalidPosition(error) => {
                write!(f, "file with the position in the purge log ignored: {error}; stored pages become stale")
            }
            Self::ForeignLog => f.write_str(
                "the purge log has only entries of another cluster or secret; this node continues alone; correct \"secret_file\" or the cluster's name",
            ),
            Self::EverythingExpired(reason) => write!(f, "all stored pages become stale: {reason}"),
            Self::LogRewound { from, to } => write!(
                f,
                "the purge log lost the records after {to}; this node had applied them up to {from} and appends lost purges again"
            ),
            Self::LogRestarted(id) => {
                write!(f, "the purge log was empty and restarts at {id}; nodes at the same position keep their pages")
            }
            Self::CommandFailed { command, error } => write!(f, "{command} failed: {error}"),
            Self::NoReply => f.write_str("the server did not reply in time; connecting again"),
            Self::NameTaken { node, address } => write!(
                f,
                "node name \"{node}\" is used by another host ({address}), which started later: set \"node\" to a unique name; until one of them stops, this process confirms no purges and limits its pages as \"partition\" defines"
            ),
            Self::NameFree => f.write_str("the name of this node is free again; this process continues as its owner"),
            Self::Partitioned(report) => report.fmt(f),
            Self::PartitionEnded => f.write_str("purges of all nodes are received again"),
            Self::MemberRemoved(node) => write!(f, "member \"{node}\" removed: it was silent for too long"),
            Self::PurgeTooLarge(bytes) => {
                write!(f, "a purge of {bytes} bytes exceeds the limit of the purge log; all pages of its zone become stale on all nodes instead")
            }
            Self::TooManyPurges => f.write_str(
                "too many purges wait for the purge log; all pages of their zones become stale on all nodes instead",
            ),
            Self::PurgesNotSaved => f.write_str(
                "purges are in effect, but could not be saved; they are not confirmed to other nodes until a later attempt succeeds; check the free space and the permissions of the cache folders",
            ),
            Self::PositionNotStored => f.write_str(
                "the file with the position in the purge log could not be written; after a restart, more pages become stale than necessary",
            ),
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfMemory => f.write_str("the server's memory limit is reached; raise \"maxmemory\""),
            Self::NotWritable => f.write_str("the server does not accept writes at present"),
            Self::Denied(text) => write!(f, "access denied ({text}); check the password and the ACL"),
            Self::Unsupported(text) => {
                write!(f, "not supported by the server ({text}); Redis 6.2 or Valkey 7.2 is required")
            }
            Self::WrongType => f.write_str(
                "a key of the cluster has another type: another program writes to it; use another database, or another name for the cluster",
            ),
            Self::Other(text) => f.write_str(text),
        }
    }
}
