//! State machine of one node of a cluster.
//!
//! The node does no I/O and reads no clock. The caller passes events and the time to [`ClusterNode::handle`], executes
//! the actions of [`ClusterNode::next_action`], and calls `handle` with [`ClusterEvent::Tick`] at
//! [`ClusterNode::next_deadline`].

mod action;
mod apply;
mod bug;
mod commands;
mod contact;
mod counters;
mod deliver;
mod event;
mod follow;
mod history;
mod machine;
mod members;
mod message;
mod outbox;
mod partition;
mod partition_cause;
mod replies;
mod schedule;
mod search;
mod settings;
mod status;
#[cfg(test)]
mod tests;
mod upkeep;

pub use action::{
    ClusterAction, ClusterCommand, LogTail, MissingReceipt, PageRule, PurgeAnswer, Readiness, ReconnectReason,
};
pub use counters::NodeCounters;
pub use event::{
    BatchNumber, ClusterEvent, CommandError, CommandNumber, CommandReply, LogEntry, PurgeTicket,
};
pub use machine::ClusterNode;
pub use message::{ClusterMessage, ExpiryReason};
pub use partition::{LateMember, LateReason, PartitionCause, PartitionReport};
pub use settings::{ClockMs, NodeSettings, NodeStart, NodeTimings, PartitionPolicy};
pub use status::{LinkState, MemberPresence, MemberStatus, NodeStatus, PendingPurgeStatus};
