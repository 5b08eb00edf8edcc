//! `…/control?cmd=…&group=…&zone=…`: returning, resetting and deleting parts of the counts.
//!
//! The names of zones are those of the module: `GROUP@NAME` for filters and peers, `@NAME` for origins without a group,
//! in which an `@` that is part of a name is written `[:alpha:]`; `*` means all of a group.

use myriad_conf::number::parse_millis;
use serde_json::{Map, Value, json};

use super::json::{self, text};
use super::report::{PeerTraffic, Report};
use myriad_exchange::traffic::{TrafficKey, TrafficKind};

/// Requested command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Command {
    Status,
    Reset,
    Delete,
}

/// Selection of counts.
enum Meant {
    All,
    Kind(TrafficKind),
    One(TrafficKind, Vec<u8>, Vec<u8>),
    /// `group=server&zone=::main`: general data without counts.
    Main,
}

/// Parsed arguments.
struct Asked {
    command: Command,
    meant: Meant,
    /// Minimum time without use of zones to delete, in milliseconds.
    expire_ms: u64,
}

/// Executes the command and returns its result.
pub(super) fn answer(report: &Report<'_>, arguments: &[u8]) -> String {
    let argument = |name| argument(arguments, name);
    let (command, group, zone) = (argument("cmd"), argument("group"), argument("zone"));
    let asked = asked(&command, &group, &zone, &argument("expire"));
    let count = match asked {
        Some(Asked { command: Command::Status, meant, .. }) => return status(report, &meant).to_string(),
        Some(asked) => Some(change(report, &asked)),
        None => None,
    };
    let told = json!({
        "processingReturn": count.is_some(),
        "processingCommandString": command,
        "processingGroupString": group,
        "processingZoneString": zone,
        "processingCounts": count.unwrap_or(0),
    });
    told.to_string()
}

/// Returns the decoded value of an argument; empty if it is missing or not UTF-8.
fn argument(arguments: &[u8], name: &str) -> String {
    let mut pairs = arguments.split(|byte| *byte == b'&');
    let value = pairs.find_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
    let mut decoded = Vec::new();
    myriad_http::uri::unescape(value.unwrap_or_default(), &mut decoded);
    String::from_utf8(decoded).unwrap_or_default()
}

/// Parses the arguments; `None` if they are invalid.
fn asked(command: &str, group: &str, zone: &str, expire: &str) -> Option<Asked> {
    let command = match command {
        "status" => Command::Status,
        "reset" => Command::Reset,
        "delete" => Command::Delete,
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
        (None, _) => Meant::All,
        (Some(_), "") => return None,
        (Some(kind), "*") => Meant::Kind(kind),
        (Some(TrafficKind::Server), "::main") => Meant::Main,
        (Some(kind), zone) => {
            let name = |text: &str| text.replace("[:alpha:]", "@").into_bytes();
            match (kind, zone.split_once('@')) {
                (TrafficKind::Filter | TrafficKind::Peer, Some((group, rest))) => {
                    Meant::One(kind, name(group), name(rest))
                }
                (TrafficKind::Origin, Some(("", rest))) => Meant::One(kind, Vec::new(), name(rest)),
                _ => Meant::One(kind, Vec::new(), name(zone)),
            }
        }
    };
    // An invalid value does nothing, instead of deleting everything that the other arguments select.
    let expire_ms = if expire.is_empty() { 0 } else { parse_millis(expire.as_bytes()).ok()? };
    Some(Asked { command, meant, expire_ms })
}

/// Returns a part of the counts in the format of the complete page.
fn status(report: &Report<'_>, meant: &Meant) -> Value {
    let group = |name: &str, zones| Value::Object(Map::from_iter([(name.to_owned(), zones)]));
    match meant {
        Meant::All => json::all(report),
        Meant::Main => Value::Object(json::main(report)),
        Meant::Kind(TrafficKind::Server) => group("serverZones", json::servers(report)),
        Meant::Kind(TrafficKind::Filter) => group("filterZones", json::filters(report)),
        Meant::Kind(TrafficKind::Peer) => group("upstreamZones", json::upstreams(report)),
        Meant::Kind(TrafficKind::Origin) => group("::nogroups", json::alone(report).collect()),
        Meant::Kind(TrafficKind::Cache) => group("cacheZones", json::caches(report)),
        Meant::One(kind, zone, name) => one(report, *kind, zone, name),
    }
}

fn one(report: &Report<'_>, kind: TrafficKind, zone: &[u8], name: &[u8]) -> Value {
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

/// Resets or deletes counts of all workers. Returns the number of keys.
fn change(report: &Report<'_>, asked: &Asked) -> usize {
    let is_meant = |key: &TrafficKey| match &asked.meant {
        Meant::All => true,
        Meant::Main => false,
        Meant::Kind(kind) => key.kind() == *kind,
        Meant::One(kind, zone, name) => key.kind() == *kind && key.zone() == &**zone && key.name() == &**name,
    };
    let keeps = asked.command == Command::Reset;
    let since_ms = report.now_ms.saturating_sub(asked.expire_ms);
    let keys: Vec<TrafficKey> = report
        .keys()
        .filter(|(key, sums)| is_meant(key) && (keeps || asked.expire_ms == 0 || sums.last_ms < since_ms))
        .map(|(key, _)| key.clone())
        .collect();
    for counters in report.request.site.worker.all_counters.iter() {
        counters.traffic.forget(&keys, keeps);
    }
    keys.len()
}
