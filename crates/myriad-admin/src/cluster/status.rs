//! Status of the node, for administrators.

use myriad_cluster::node::{
    LinkState, MemberPresence, MemberStatus, NodeCounters, NodeStatus, PendingPurgeStatus, Readiness,
};
use myriad_store::page::{ClusterMember, PublisherStatus, UnconfirmedPurge};

use super::certificates::ClusterCertificates;
use super::options::ClusterOptions;
use super::pages::SharedPages;
use super::ticket_keys::ClusterTicketKeys;

/// Returns the status of a node in the form that the commands, the API and the metrics use.
pub(super) fn publisher_status(
    options: &ClusterOptions,
    node: &NodeStatus,
    pages: &SharedPages,
    (ticket_keys, certificates): (&ClusterTicketKeys, &ClusterCertificates),
) -> PublisherStatus {
    let counters = node_counters(&node.counters).into_iter().chain(pages.counters());
    let counters = counters.chain(ticket_keys.counters()).chain(certificates.counters());
    PublisherStatus {
        cluster: options.name.clone(),
        node: options.node.clone(),
        state: match node.link {
            _ if node.is_name_taken => "name_taken",
            LinkState::Disconnected => "disconnected",
            LinkState::Foreign => "wrong_secret",
            LinkState::Checking | LinkState::Searching | LinkState::Founding => "catching_up",
            LinkState::Following => "connected",
        },
        serves_stored_pages: node.readiness == Readiness::Serving,
        behind_ms: node.behind_ms,
        position: node.applied.map(|id| id.to_string()),
        are_nodes_known: node.members_known,
        members: node.members.iter().map(member).collect(),
        unconfirmed: node.pending.iter().map(unconfirmed).collect(),
        unconfirmed_count: node.pending_count as u64,
        pages: if options.shares_pages { pages.state() } else { "off" },
        ticket_keys: ticket_keys.state(),
        counters: counters.collect(),
    }
}

fn node_counters(counters: &NodeCounters) -> [(&'static str, u64); 12] {
    [
        ("purges_sent", counters.purges_requested),
        ("purges_received", counters.purges_applied),
        ("purges_repeated", counters.purges_repeated),
        ("records_appended", counters.records_appended),
        ("appends_refused", counters.appends_refused),
        ("receipts", counters.receipts),
        ("values_refused", counters.values_refused),
        ("everything_expired", counters.everything_expired),
        ("log_rewinds", counters.rewinds),
        ("commands_failed", counters.commands_failed),
        ("disconnects", counters.disconnects),
        ("partitions", counters.partitions),
    ]
}

fn member(member: &MemberStatus) -> ClusterMember {
    ClusterMember {
        node: member.node.to_string(),
        address: member.address.clone(),
        software: member.software.clone(),
        state: match member.presence {
            MemberPresence::Active => "active",
            MemberPresence::Silent => "silent",
            MemberPresence::Left => "left",
        },
        position: member.applied.map(|id| id.to_string()),
        seen_ms_ago: member.seen_ms_ago,
    }
}

fn unconfirmed(purge: &PendingPurgeStatus) -> UnconfirmedPurge {
    UnconfirmedPurge {
        zone: purge.zone.clone(),
        age_ms: purge.age_ms,
        record: purge.record.map(|id| id.to_string()),
        missing: purge.missing.iter().map(ToString::to_string).collect(),
    }
}
