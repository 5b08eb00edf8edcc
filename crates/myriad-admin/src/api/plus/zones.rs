//! Objects for zones with counts: servers and locations, limits, resolvers.

use std::collections::BTreeMap;
use std::sync::Arc;

use myriad_exchange::runtime::{LimitCounts, LimitDecision};
use myriad_exchange::traffic::{ZoneKind, ZoneSums};
use myriad_upstream::{ResolverCounts, ResolverZone};
use serde_json::{Map, Value, json};

use super::node::members;
use super::peers::responses;
use super::site::SiteView;
use super::tls;

/// Returns the object of a zone of `status_zone`, which counts requests of servers or locations, or sessions of
/// `stream` servers.
pub(super) fn traffic(sums: &ZoneSums, kind: ZoneKind, version: u8) -> Map<String, Value> {
    let mut object = members(json!({
        "discarded": sums.discarded,
        "received": sums.received,
        "sent": sums.sent,
    }));
    if kind == ZoneKind::Stream {
        let [_, passed, _, refused, failed] = sums.classes();
        let sessions = json!({ "2xx": passed, "4xx": refused, "5xx": failed, "total": sums.responses() });
        object.insert("connections".to_owned(), json!(sums.requests));
        object.insert("sessions".to_owned(), sessions);
    } else {
        object.insert("requests".to_owned(), json!(sums.requests));
        object.insert("responses".to_owned(), responses(&sums.statuses, version));
    }
    if kind != ZoneKind::Location {
        object.insert("processing".to_owned(), json!(sums.processing));
    }
    if let Some(tls) = sums.tls.as_ref().filter(|_| version >= 8) {
        object.insert("ssl".to_owned(), tls::of_clients(tls, true, version));
    }
    object
}

/// Returns the counts of the zones of a kind, ordered by name. Zones without an explicit `status_zone` are excluded.
pub(super) fn of_kind(site: &SiteView, kind: ZoneKind) -> impl Iterator<Item = ZoneSums> {
    let zones = site.runtime.traffic_zones.iter().filter(move |zone| zone.kind() == kind);
    zones.map(|zone| zone.sums()).filter(|sums| sums.is_named)
}

/// Returns the API object of a `limit_req_zone`, with its counts.
pub(super) fn limit_req(counts: &LimitCounts) -> Map<String, Value> {
    members(json!({
        "passed": counts.of(LimitDecision::Passed),
        "delayed": counts.of(LimitDecision::Delayed),
        "rejected": counts.of(LimitDecision::Rejected),
        "delayed_dry_run": counts.of(LimitDecision::DelayedDryRun),
        "rejected_dry_run": counts.of(LimitDecision::RejectedDryRun),
    }))
}

/// Returns the API object of a `limit_conn_zone`, with its counts.
pub(super) fn limit_conn(counts: &LimitCounts) -> Map<String, Value> {
    members(json!({
        "passed": counts.of(LimitDecision::Passed),
        "rejected": counts.of(LimitDecision::Rejected),
        "rejected_dry_run": counts.of(LimitDecision::RejectedDryRun),
    }))
}

/// Returns the zones (`status_zone=`) of all resolvers, by name.
pub(super) fn resolver_zones(site: &SiteView) -> BTreeMap<String, Arc<ResolverZone>> {
    let runtime = &site.runtime;
    let groups = runtime.groups.values().map(|group| group.group.control());
    let groups = groups.chain(runtime.stream_groups.iter().cloned());
    let of_groups = groups.filter_map(|group| group.resolver_zone());
    let configs = runtime.resolvers.iter().chain(&runtime.stream_resolvers);
    let zones = configs.filter_map(|config| config.zone.clone()).chain(of_groups);
    zones.map(|zone| (zone.name().to_owned(), zone)).collect()
}

/// Returns the API object of a resolver zone, with its counts of lookups.
pub(super) fn resolver(counts: &ResolverCounts) -> Map<String, Value> {
    let [noerror, formerr, servfail, nxdomain, notimp, refused] = counts.codes;
    members(json!({
        "requests": { "name": counts.names, "srv": counts.services, "addr": 0 },
        "responses": {
            "noerror": noerror,
            "formerr": formerr,
            "servfail": servfail,
            "nxdomain": nxdomain,
            "notimp": notimp,
            "refused": refused,
            "timedout": counts.timed_out,
            "unknown": counts.unknown,
        },
    }))
}
