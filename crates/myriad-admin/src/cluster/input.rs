//! Input of the loop of the cluster's thread, and its clock.

use myriad_cluster::node::{
    ClockMs, ClusterEvent, CommandNumber, CommandReply, NodeStatus, PurgeAnswer, PurgeTicket,
};
use myriad_store::page::AnnouncedPurge;
use tokio::sync::oneshot;

use super::link_error::LinkError;
use super::valkey::ValkeyLink;

/// Input of the loop.
pub(super) enum Input {
    /// Event for the node.
    Event(ClusterEvent),
    /// A purge, with the receiver of its answer, and its announcement.
    Purge(ClusterEvent, PurgeTicket, oneshot::Sender<PurgeAnswer>, AnnouncedPurge),
    /// Zones joined, in which purges may have been executed before; with an announcement for each.
    Gap(Vec<AnnouncedPurge>),
    /// Request for the status.
    Status(std::sync::mpsc::Sender<NodeStatus>),
    /// The link with this number is connected.
    Connected(u64, Box<ValkeyLink>),
    /// An attempt to connect failed, for this reason; another one follows.
    NotConnected(u64, LinkError),
    /// Reply on the link with this number.
    Reply(u64, CommandNumber, Result<CommandReply, LinkError>),
}

/// Returns the time of the node's clock in milliseconds: since the boot of the machine, including suspended time.
pub(super) fn clock_ms() -> ClockMs {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    time.tv_sec.cast_unsigned() * 1000 + time.tv_nsec.cast_unsigned() / 1_000_000
}
