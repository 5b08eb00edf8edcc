//! Objects for upstream groups and their peers.

use std::collections::BTreeMap;

use myriad_upstream::{GroupControl, PeerSnapshot, PeerTraffic, RESPONSE_TIME_BOUNDS, ServerSnapshot};
use serde_json::{Map, Value, json};

use super::node::members;
use super::site::{UpstreamBlock, moment};
use super::tls;

/// Returns the API object of an upstream group, with its peers.
pub(super) fn group(group: &GroupControl, block: UpstreamBlock, version: u8) -> Map<String, Value> {
    let servers: BTreeMap<u64, ServerSnapshot> =
        group.servers().into_iter().map(|server| (server.id, server)).collect();
    let peers = group.peers(None);
    let idle: usize = peers.iter().map(|peer| peer.idle).sum();
    let peers: Vec<Value> = peers
        .iter()
        .map(|one| {
            let server = servers.get(&one.id.1.unwrap_or(one.id.0));
            Value::Object(peer(one, server, block, version))
        })
        .collect();
    let mut object = members(json!({ "peers": peers, "zombies": group.zombies(), "zone": group.zone() }));
    if block == UpstreamBlock::Http {
        object.insert("keepalive".to_owned(), json!(idle));
        if let Some((size, max_size, overflows)) = group.queue() {
            let queue = json!({ "size": size, "max_size": max_size, "overflows": overflows });
            object.insert("queue".to_owned(), queue);
        }
    }
    object
}

fn peer(
    peer: &PeerSnapshot,
    server: Option<&ServerSnapshot>,
    block: UpstreamBlock,
    version: u8,
) -> Map<String, Value> {
    let mut object = members(json!({
        "id": peer.id.0,
        "server": peer.address.to_string(),
        "name": peer.name,
        "backup": peer.backup,
        "weight": peer.weight,
        "state": peer.status.as_str(),
        "active": peer.active,
        "sent": peer.traffic.sent,
        "received": peer.traffic.received,
        "fails": peer.failures,
        "unavail": peer.unavailable,
        "health_checks": checks(peer),
        "downtime": peer.downtime_ms,
    }));
    let mut add = |name: &str, value: Value| drop(object.insert(name.to_owned(), value));
    let [connect_ms, first_ms, last_ms] = peer.took_ms;
    if block == UpstreamBlock::Http {
        add("requests", json!(peer.requests));
        add("responses", responses(&peer.traffic.statuses, version));
        add("header_time", json!(first_ms));
        if version >= 9 {
            add("response_time_hist", times(&peer.traffic));
        }
    } else {
        add("connections", json!(peer.requests));
        add("connect_time", json!(connect_ms));
        add("first_byte_time", json!(first_ms));
    }
    add("response_time", json!(last_ms));
    if let Some(service) = server.and_then(|server| server.service.as_ref()) {
        add("service", json!(service));
    }
    if peer.max_conns > 0 {
        add("max_conns", json!(peer.max_conns));
    }
    if let Some(since_ms) = peer.down_since_ms {
        add("downstart", moment(since_ms));
    }
    if let Some(selected_ms) = peer.selected_ms {
        add("selected", moment(selected_ms));
    }
    let speaks_tls = peer.traffic.tls.handshakes + peer.traffic.tls.handshakes_failed > 0;
    if version >= 8 && speaks_tls {
        add("ssl", tls::of_peer(&peer.traffic.tls));
    }
    object
}

fn checks(peer: &PeerSnapshot) -> Value {
    let checks = &peer.checks;
    let mut object = members(json!({
        "checks": checks.checks,
        "fails": checks.fails,
        "unhealthy": checks.unhealthy,
    }));
    if let Some(passed) = checks.last_passed {
        object.insert("last_passed".to_owned(), json!(passed));
    }
    Value::Object(object)
}

/// Returns the numbers of responses by class, and since version 7 also by status code.
pub(super) fn responses(statuses: &[(u16, u64)], version: u8) -> Value {
    let mut object = Map::new();
    for class in 1..=5_u16 {
        let of_class = statuses.iter().filter(|(status, _)| status / 100 == class);
        object.insert(format!("{class}xx"), json!(of_class.map(|(_, count)| count).sum::<u64>()));
    }
    if version >= 7 {
        let codes: Map<_, _> =
            statuses.iter().map(|(status, count)| (status.to_string(), json!(count))).collect();
        object.insert("codes".to_owned(), Value::Object(codes));
    }
    object.insert("total".to_owned(), json!(statuses.iter().map(|(_, count)| count).sum::<u64>()));
    Value::Object(object)
}

fn times(traffic: &PeerTraffic) -> Value {
    let names = RESPONSE_TIME_BOUNDS.iter().map(u64::to_string).chain(["inf".to_owned()]);
    let buckets: Map<_, _> =
        names.zip(traffic.response_times).map(|(name, count)| (name, json!(count))).collect();
    json!({
        "count": traffic.response_times.iter().sum::<u64>(),
        "sum": traffic.response_sum_ms,
        "buckets": buckets,
    })
}
