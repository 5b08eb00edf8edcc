//! `…/control?cmd=…&group=…&zone=…`: returns, resets or deletes parts of the counts.
//!
//! Zones have the names of nginx-module-vts: `GROUP@NAME` for filters and peers, `@NAME` for origins without a group;
//! an `@` within a name is written `[:alpha:]`, and `*` means all of a group.

use myriad_conf::number::parse_millis;
use serde_json::{Map, Value, json};

use super::json::{self, text};
use super::report::{PeerTraffic, TrafficReport};
use myriad_exchange::traffic::{TrafficKey, TrafficKind};

/// Command of the control interface of nginx-module-vts (`/status/control?cmd=`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum ControlCommand {
    Status,
    Reset,
    Delete,
}

/// Traffic counts that a control command selects.
enum CountSelection {
    All,
    Kind(TrafficKind),
    One(TrafficKind, Vec<u8>, Vec<u8>),
    /// General data of the server, without traffic counts (`group=server&zone=::main`).
    Main,
}

/// Parsed arguments of a control request.
struct ControlRequest {
    command: ControlCommand,
    selection: CountSelection,
    /// With `cmd=delete`: counts are deleted only if their last request was longer ago than this, in milliseconds; 0
    /// deletes them in any case.
    expire_ms: u64,
}

/// Executes the control command in the query arguments and returns its result as JSON.
pub(super) fn answer(report: &TrafficReport<'_>, arguments: &[u8]) -> String {
    let argument = |name| argument(arguments, name);
    let (command, group, zone) = (argument("cmd"), argument("group"), argument("zone"));
    let asked = parse_request(&command, &group, &zone, &argument("expire"));
    let count = match asked {
        Some(ControlRequest { command: ControlCommand::Status, selection: meant, .. }) => {
            return status(report, &meant).to_string();
        }
        Some(asked) => Some(change(report, &asked)),
        None => None,
    };
    let response = json!({
        "processingReturn": count.is_some(),
        "processingCommandString": command,
        "processingGroupString": group,
        "processingZoneString": zone,
        "processingCounts": count.unwrap_or(0),
    });
    response.to_string()
}

/// Returns the URL-decoded value of the query argument `name`; empty if it is missing or not UTF-8.
fn argument(arguments: &[u8], name: &str) -> String {
    let mut pairs = arguments.split(|byte| *byte == b'&');
    let value = pairs.find_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
    let mut decoded = Vec::new();
    myriad_http::uri::unescape(value.unwrap_or_default(), &mut decoded);
    String::from_utf8(decoded).unwrap_or_default()
}

/// Parses the arguments of a control request; `None` if they are invalid.
fn parse_request(command: &str, group: &str, zone: &str, expire: &str) -> Option<ControlRequest> {
    let command = match command {
        "status" => ControlCommand::Status,
        "reset" => ControlCommand::Reset,
        "delete" => ControlCommand::Delete,
        _ => return None,
    };
    let kind = match group {
        "*" => None,
        "server" => Some(TrafficKind::Server),
        "filter" => Some(TrafficKind::Filter),
        "upstream@group" => Some(TrafficKind::Peer),
        "upstream@alone" => Some(TrafficKind::Origin),
        "cache" => Some(TrafficKind::Cache),
        _ => return None,
    };
    let meant = match (kind, zone) {
        (None, _) => CountSelection::All,
        (Some(_), "") => return None,
        (Some(kind), "*") => CountSelection::Kind(kind),
        (Some(TrafficKind::Server), "::main") => CountSelection::Main,
        (Some(kind), zone) => {
            let name = |text: &str| text.replace("[:alpha:]", "@").into_bytes();
            match (kind, zone.split_once('@')) {
                (TrafficKind::Filter | TrafficKind::Peer, Some((group, rest))) => {
                    CountSelection::One(kind, name(group), name(rest))
                }
                (TrafficKind::Origin, Some(("", rest))) => CountSelection::One(kind, Vec::new(), name(rest)),
                _ => CountSelection::One(kind, Vec::new(), name(zone)),
            }
        }
    };
    // With an invalid value nothing is done: ignoring it would delete everything that the other arguments select.
    let expire_ms = if expire.is_empty() { 0 } else { parse_millis(expire.as_bytes()).ok()? };
    Some(ControlRequest { command, selection: meant, expire_ms })
}

/// Returns the selected part of the traffic counts as JSON, in the structure of the complete report.
fn status(report: &TrafficReport<'_>, meant: &CountSelection) -> Value {
    let group = |name: &str, zones| Value::Object(Map::from_iter([(name.to_owned(), zones)]));
    match meant {
        CountSelection::All => json::all(report),
        CountSelection::Main => Value::Object(json::main(report)),
        CountSelection::Kind(TrafficKind::Server) => group("serverZones", json::servers(report)),
        CountSelection::Kind(TrafficKind::Filter) => group("filterZones", json::filters(report)),
        CountSelection::Kind(TrafficKind::Peer) => group("upstreamZones", json::upstreams(report)),
        CountSelection::Kind(TrafficKind::Origin) => group("::nogroups", json::alone(report).collect()),
        CountSelection::Kind(TrafficKind::Cache) => group("cacheZones", json::caches(report)),
        CountSelection::One(kind, zone, name) => one(report, *kind, zone, name),
    }
}

fn one(report: &TrafficReport<'_>, kind: TrafficKind, zone: &[u8], name: &[u8]) -> Value {
    let nothing = || Value::Object(Map::new());
    let named = |value| Value::Object(Map::from_iter([(text(name), value)]));
    match kind {
        TrafficKind::Server | TrafficKind::Filter => {
            let sums = report.one(kind, zone, name);
            sums.map_or_else(nothing, |sums| named(json::zone(report, sums)))
        }
        TrafficKind::Peer => {
            let upstreams = report.upstreams();
            let peers = upstreams.get(&*text(zone)).into_iter().flatten();
            let peer = peers.into_iter().find(|peer| peer.address.as_bytes() == name);
            peer.map_or_else(nothing, |peer| json::peer(report, peer))
        }
        TrafficKind::Origin => {
            let sums = report.one(kind, zone, name);
            sums.map_or_else(nothing, |sums| {
                json::peer(report, &PeerTraffic { address: text(name), config: None, sums: sums.clone() })
            })
        }
        TrafficKind::Cache => {
            let caches = report.caches();
            let cache = caches.iter().find(|(known, ..)| known.as_bytes() == name);
            cache.map_or_else(nothing, |(_, sums, sizes)| named(json::cache(sums, *sizes)))
        }
    }
}

/// Resets or deletes the selected traffic counts in all workers; deletes only those that have been unused for
/// `expire_ms` (all if it is 0). Returns the number of zones, such as servers or peers, whose counts were reset or
/// deleted.
fn change(report: &TrafficReport<'_>, asked: &ControlRequest) -> usize {
    let is_meant = |key: &TrafficKey| match &asked.selection {
        CountSelection::All => true,
        CountSelection::Main => false,
        CountSelection::Kind(kind) => key.kind() == *kind,
        CountSelection::One(kind, zone, name) => {
            key.kind() == *kind && key.zone() == &**zone && key.name() == &**name
        }
    };
    let is_reset = asked.command == ControlCommand::Reset;
    let since_ms = report.now_ms.saturating_sub(asked.expire_ms);
    let keys: Vec<TrafficKey> = report
        .keys()
        .filter(|(key, sums)| is_meant(key) && (is_reset || asked.expire_ms == 0 || sums.last_ms < since_ms))
        .map(|(key, _)| key.clone())
        .collect();
    for counters in report.request.site.worker.all_counters.iter() {
        counters.traffic.remove(&keys, is_reset);
    }
    keys.len()
}
