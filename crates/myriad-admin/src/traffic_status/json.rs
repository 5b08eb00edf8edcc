//! Counts as a JSON object, with the names of nginx-module-vts.

use serde_json::{Map, Value, json};

use super::report::{PeerTraffic, TrafficReport};
use myriad_exchange::traffic::{TrafficKind, TrafficSums};
use myriad_policy::CacheStatus;

/// Returns the complete traffic report as JSON.
pub(super) fn all(report: &TrafficReport<'_>) -> Value {
    let mut all = main(report);
    for (name, zones) in [
        ("serverZones", servers(report)),
        ("filterZones", filters(report)),
        ("upstreamZones", upstreams(report)),
        ("cacheZones", caches(report)),
    ] {
        // As in the module, empty groups are omitted. Servers always contain at least their sum.
        if zones.as_object().is_some_and(|zones| !zones.is_empty()) {
            all.insert(name.to_owned(), zones);
        }
    }
    Value::Object(all)
}

/// Returns the general data of the report (host, version, connections), without the traffic counts.
pub(super) fn main(report: &TrafficReport<'_>) -> Map<String, Value> {
    let (now, shown) = (&report.connections, report.shown);
    let host = text(&report.request.runtime().hostname);
    let most = shown.zone.size * report.request.site.worker.all_counters.len() as u64;
    let (used, nodes) = report.used;
    object(json!({
        "hostName": host,
        "moduleVersion": env!("CARGO_PKG_VERSION"),
        "nginxVersion": concat!("Myriad/", env!("CARGO_PKG_VERSION")),
        "loadMsec": report.began_ms,
        "nowMsec": myriad_net::clock::to_wall_ms(report.now_ms),
        "connections": {
            "active": now.active(),
            "reading": now.reading,
            "writing": now.writing(),
            "waiting": now.waiting(),
            "accepted": now.accepted,
            "handled": now.accepted,
            "requests": now.begun,
        },
        "sharedZones": {
            "name": shown.zone.name,
            "maxSize": most,
            "usedSize": used,
            "usedNode": nodes,
            "freeSize": most.saturating_sub(used),
        },
    }))
}

/// Returns the counts of all servers by name, and their sum.
pub(super) fn servers(report: &TrafficReport<'_>) -> Value {
    let mut zones: Map<String, Value> = report
        .of_kind(TrafficKind::Server)
        .map(|(key, sums)| (text(key.name()), zone(report, sums)))
        .collect();
    zones.insert(report.shown.sum_key.clone(), zone(report, &report.total()));
    Value::Object(zones)
}

/// Returns the counts of filters, by group and key.
pub(super) fn filters(report: &TrafficReport<'_>) -> Value {
    let groups = report.groups().into_iter().map(|(group, filters)| {
        let zones: Map<String, Value> =
            filters.into_iter().map(|(name, sums)| (text(name), zone(report, sums))).collect();
        (text(group), Value::Object(zones))
    });
    Value::Object(groups.collect())
}

/// Returns the counts of the peers of each `upstream`; origins that are in no `upstream` are listed under `::nogroups`.
pub(super) fn upstreams(report: &TrafficReport<'_>) -> Value {
    let peers = |peers: Vec<PeerTraffic>| peers.iter().map(|traffic| peer(report, traffic)).collect();
    let mut zones: Map<String, Value> =
        report.upstreams().into_iter().map(|(name, of)| (name.to_owned(), Value::Array(peers(of)))).collect();
    let alone: Vec<Value> = alone(report).collect();
    if !alone.is_empty() {
        zones.insert("::nogroups".to_owned(), Value::Array(alone));
    }
    Value::Object(zones)
}

/// Returns the counts of each origin that is in no `upstream`.
pub(super) fn alone(report: &TrafficReport<'_>) -> impl Iterator<Item = Value> {
    report.of_kind(TrafficKind::Origin).map(|(key, sums)| {
        peer(report, &PeerTraffic { address: text(key.name()), config: None, sums: sums.clone() })
    })
}

/// Returns the counts of the cache zones by name.
pub(super) fn caches(report: &TrafficReport<'_>) -> Value {
    let caches = report.caches().into_iter();
    Value::Object(caches.map(|(name, sums, sizes)| (name.to_owned(), cache(sums, sizes))).collect())
}

/// Returns the JSON object of a server or a filter, with its counts.
pub(super) fn zone(report: &TrafficReport<'_>, sums: &TrafficSums) -> Value {
    let mut responses = classes(sums);
    responses.extend(cache_counts(sums));
    let mut zone = object(json!({
        "requestCounter": sums.requests,
        "inBytes": sums.in_bytes,
        "outBytes": sums.out_bytes,
        "responses": responses,
        "overCounts": { "maxIntegerSize": u64::MAX },
    }));
    durations(&mut zone, report, "request", sums);
    Value::Object(zone)
}

/// Returns the JSON object of an origin, with its counts.
pub(super) fn peer(report: &TrafficReport<'_>, peer: &PeerTraffic) -> Value {
    let (sums, config) = (&peer.sums, peer.config.as_ref());
    let mut zone = object(json!({
        "server": peer.address,
        "requestCounter": sums.requests,
        "inBytes": sums.in_bytes,
        "outBytes": sums.out_bytes,
        "responses": classes(sums),
        "weight": config.map_or(0, |config| config.weight),
        "maxFails": config.map_or(0, |config| config.max_fails),
        "failTimeout": config.map_or(0, |config| config.fail_timeout_ms / 1000),
        "backup": config.is_some_and(|config| config.backup),
        "down": config.is_some_and(|config| config.down),
        "overCounts": { "maxIntegerSize": u64::MAX },
    }));
    durations(&mut zone, report, "request", sums);
    durations(&mut zone, report, "response", sums);
    Value::Object(zone)
}

/// Returns the JSON object of a cache zone, with its counts, maximum and used size.
pub(super) fn cache(sums: &TrafficSums, (most, used): (u64, u64)) -> Value {
    json!({
        "maxSize": most,
        "usedSize": used,
        "inBytes": sums.in_bytes,
        "outBytes": sums.out_bytes,
        "responses": cache_counts(sums).collect::<Map<_, _>>(),
        "overCounts": { "maxIntegerSize": u64::MAX },
    })
}

fn classes(sums: &TrafficSums) -> Map<String, Value> {
    sums.classes.iter().zip(1..).map(|(count, class)| (format!("{class}xx"), json!(count))).collect()
}

fn cache_counts(sums: &TrafficSums) -> impl Iterator<Item = (String, Value)> {
    let counts = CacheStatus::ALL.into_iter().zip(sums.cache);
    counts
        .map(|(status, count)| (status.as_str().to_ascii_lowercase(), json!(count)))
        // nginx's status `SCARCE` does not exist here, so its count is always 0.
        .chain([("scarce".to_owned(), json!(0))])
}

fn durations(zone: &mut Map<String, Value>, report: &TrafficReport<'_>, what: &str, sums: &TrafficSums) {
    let durations = if what == "request" { &sums.request } else { &sums.response };
    let (at, took): (Vec<u64>, Vec<u64>) = durations.times.iter().copied().unzip();
    let (bounds, counts): (Vec<u64>, Vec<u64>) = durations.buckets.iter().copied().unzip();
    zone.insert(format!("{what}MsecCounter"), json!(durations.sum_ms));
    zone.insert(format!("{what}Msec"), json!(report.average(&durations.times)));
    zone.insert(format!("{what}Msecs"), json!({ "times": at, "msecs": took }));
    zone.insert(format!("{what}Buckets"), json!({ "msecs": bounds, "counters": counts }));
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Converts a name to text. Clients may have chosen it, so invalid UTF-8 is replaced.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
