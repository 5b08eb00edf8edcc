//! Cause of the present partition.

use super::{ClockMs, ClusterNode, LinkState, NodeTimings, PartitionCause, PartitionReport};

/// Maximum number of nodes that a report names.
const MAX_NAMES: usize = 8;

impl ClusterNode {
    /// Returns the description of the present partition; `None` if the node receives all purges.
    pub(super) fn partition_report(&self, now: ClockMs) -> Option<PartitionReport> {
        self.contact.is_partitioned().then(|| PartitionReport {
            cause: self.partition_cause(now),
            behind_ms: self.contact.fresh_at().map(|fresh_at| now.saturating_sub(fresh_at)),
            policy: self.settings.partition,
        })
    }

    fn partition_cause(&self, now: ClockMs) -> PartitionCause {
        if self.upkeep.is_name_taken() {
            return PartitionCause::NameTaken;
        }
        match self.link {
            LinkState::Disconnected => {
                return PartitionCause::NoConnection { servers: self.settings.servers.clone() };
            }
            LinkState::Foreign => return PartitionCause::ForeignLog,
            LinkState::Checking | LinkState::Searching | LinkState::Founding | LinkState::Following => {}
        }
        let NodeTimings { detection_ms, .. } = self.settings.timings;
        let mut nodes = self.members.late(detection_ms, self.members_interval_ms(), now);
        if nodes.is_empty() {
            return PartitionCause::Slow;
        }
        nodes.sort_by_key(|member| member.reason);
        let more = nodes.len().saturating_sub(MAX_NAMES);
        nodes.truncate(MAX_NAMES);
        PartitionCause::Members { nodes, more }
    }
}
