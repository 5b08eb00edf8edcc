//! Status of the cluster.

use myriad_log::LogLevel;
use myriad_store::page::{ClusterMember, PublisherStatus, UnconfirmedPurge};

use super::administrator::{Administrator, ReplyResult, ReplySink};
use crate::protocol::{
    AdminReply, ClusterReport, ClusterRequest, MemberReport, NO_CLUSTER, ReplyEnd, ServerReport,
    UnconfirmedPurgeReport,
};

impl Administrator {
    /// Reports the status of the cluster, after removing the node that the request names, if any. The report is
    /// [`ClusterReport::of_no_cluster`] if this server belongs to no cluster. Returns an error text if the cluster node
    /// of this server does not reply, or if the named node could not be removed.
    pub(super) fn cluster(&self, request: &ClusterRequest, tell: &mut ReplySink<'_>) -> ReplyResult {
        let Some(publisher) = &self.cluster else {
            if request.forget.is_some() {
                return Err(NO_CLUSTER.to_owned());
            }
            tell(AdminReply::Cluster(Box::new(ClusterReport::of_no_cluster())));
            return Ok(ReplyEnd::default());
        };
        if let Some(node) = &request.forget {
            publisher.forget_node(node)?;
            let text = format_args!("cluster: node \"{node}\" removed by an administrator");
            self.log.write(LogLevel::Notice, None, text);
        }
        let status = publisher.status().ok_or("the node of the cluster does not reply")?;
        tell(AdminReply::Cluster(Box::new(cluster_report(status))));
        Ok(ReplyEnd::default())
    }
}

/// Converts the status of this server's cluster node to a report.
pub(crate) fn cluster_report(status: PublisherStatus) -> ClusterReport {
    let member = |member: ClusterMember| MemberReport {
        node: member.node,
        address: member.address,
        software: member.software,
        state: member.state.to_owned(),
        position: member.position,
        seen_ms_ago: member.seen_ms_ago,
    };
    let purge = |purge: UnconfirmedPurge| UnconfirmedPurgeReport {
        zone: purge.zone,
        kind: purge.kind.to_owned(),
        what: purge.what,
        soft: purge.soft,
        age_ms: purge.age_ms,
        record: purge.record,
        missing: purge.missing,
    };
    ClusterReport {
        cluster: status.cluster,
        node: status.node,
        state: status.state.to_owned(),
        serves_stored_pages: status.serves_stored_pages,
        behind_ms: status.behind_ms,
        partition: status.partition,
        server: status.server.map(|server| ServerReport {
            url: server.url,
            maxmemory: server.memory_limit,
            maxmemory_policy: server.memory_policy,
            warning: server.warning,
        }),
        position: status.position,
        nodes_known: status.are_nodes_known,
        members: status.members.into_iter().map(member).collect(),
        unconfirmed: status.unconfirmed.into_iter().map(purge).collect(),
        unconfirmed_count: status.unconfirmed_count,
        pages: status.pages.to_owned(),
        ticket_keys: status.ticket_keys.to_owned(),
        certificates: status.certificates.to_owned(),
        limits: status.limits.to_owned(),
        counters: status.counters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    }
}
