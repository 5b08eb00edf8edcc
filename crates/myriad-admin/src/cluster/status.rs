//! Status of the node, for administrators.

use std::sync::atomic::Ordering::Relaxed;

use myriad_cluster::node::{
    LinkState, MemberPresence, MemberStatus, NodeCounters, NodeStatus, PendingPurgeStatus, Readiness,
};
use myriad_store::page::{ClusterMember, PublisherStatus, ServerStatus, UnconfirmedPurge};

use super::exchanged_state::ExchangedState;
use super::options::ClusterOptions;
use crate::purge::{ZonePurge, shorten_name};

/// Returns the status of a node in the form that the commands, the API and the metrics use.
pub(super) fn publisher_status(
    options: &ClusterOptions,
    node: &NodeStatus,
    server: Option<ServerStatus>,
    exchanged: &ExchangedState,
) -> PublisherStatus {
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
        partition: node.partition.as_ref().map(ToString::to_string),
        server,
        position: node.applied.map(|id| id.to_string()),
        are_nodes_known: node.members_known,
        members: node.members.iter().map(member).collect(),
        unconfirmed: node.pending.iter().map(unconfirmed).collect(),
        unconfirmed_count: node.pending_count as u64,
        pages: if options.shares_pages { exchanged.pages.state() } else { "off" },
        ticket_keys: exchanged.ticket_keys.state(),
        certificates: certificates_state(exchanged),
        limits: limits_state(exchanged, node.link),
        counters: node_counters(&node.counters).into_iter().chain(exchanged.counters()).collect(),
    }
}

/// Returns the state of the exchange of automatic certificates, as [`PublisherStatus::certificates`].
fn certificates_state(exchanged: &ExchangedState) -> &'static str {
    exchanged.certificates.with_state(|state| match &state.link {
        _ if state.certificates.is_empty() => "off",
        Some(_) => "shared",
        None => "local",
    })
}

/// Returns the state of the exchange of limits, as [`PublisherStatus::limits`].
fn limits_state(exchanged: &ExchangedState, link: LinkState) -> &'static str {
    if !exchanged.limits.has_zones() {
        "off"
    } else if link == LinkState::Disconnected || exchanged.limits.has_logged_failure.load(Relaxed) {
        "local"
    } else {
        "shared"
    }
}

fn node_counters(counters: &NodeCounters) -> [(&'static str, u64); 14] {
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
        ("log_restarts", counters.log_restarts),
        ("connects_failed", counters.connects_failed),
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
    let (kind, what, soft) = describe(&purge.body);
    UnconfirmedPurge {
        zone: purge.zone.clone(),
        kind,
        what,
        soft,
        age_ms: purge.age_ms,
        record: purge.record.map(|id| id.to_string()),
        missing: purge.missing.iter().map(ToString::to_string).collect(),
    }
}

/// Returns the kind of a purge, a description of its pages, and whether it is soft.
fn describe(body: &[u8]) -> (&'static str, String, bool) {
    if body.is_empty() {
        return ("all", "*".to_owned(), true);
    }
    let Some(purge) = ZonePurge::decode(body) else { return ("unknown", String::new(), false) };
    let (kind, mut what) = purge.description();
    shorten_name(&mut what);
    (kind, what, purge.is_soft())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::purge::PurgeEffect;
    use myriad_policy::{PurgeTarget, Tags};

    #[test]
    fn descriptions_of_purges_are_short_and_have_no_control_characters() {
        let of = |target, effect| describe(&ZonePurge::of(target, effect).encode());
        let url = PurgeTarget::url(b"http://a.test/x").expect("a URL");
        assert_eq!(of(url, PurgeEffect::Remove), ("url", "a.test/x".to_owned(), false));
        let tags = PurgeTarget::Tags(Tags::parse(b"post-1"));
        assert_eq!(of(tags, PurgeEffect::MakeStale), ("tags", "tags post-1".to_owned(), true));
        let hostile = PurgeTarget::Keys(vec![b"\x1b[2J\r\n\xff".repeat(2000).into()]);
        let (kind, what, _) = of(hostile, PurgeEffect::Remove);
        assert_eq!(kind, "key");
        assert!(what.len() < 600 && what.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{what}");
        assert_eq!(describe(&[]), ("all", "*".to_owned(), true));
        assert_eq!(describe(b"\xff another version"), ("unknown", String::new(), false));
    }
}
