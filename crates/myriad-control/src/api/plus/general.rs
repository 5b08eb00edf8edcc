//! What is about the server as a whole.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use myriad_exchange::counters::Snapshot;
use myriad_page::PageZone;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::node::members;
use super::site::{Site, moment};

/// The version of nginx whose configuration language is read (`$nginx_version`).
const NGINX_VERSION: &str = "1.31.4";
/// The end of a licence that has none: the year 2100. Myriad is free.
const NEVER_S: u64 = 4_102_444_800;
/// The same as the grace that NGINX Plus gives, seconds: 180 days.
const GRACE_S: u64 = 15_552_000;
/// Bytes of a page of memory.
const PAGE: u64 = 4096;

/// How many worker processes had been started anew when that was set to nothing.
static RESPAWNED_BEFORE: AtomicU64 = AtomicU64::new(0);

/// `nginx`.
pub(super) fn nginx(site: &Site, address: &str) -> Value {
    json!({
        "version": NGINX_VERSION,
        "build": concat!("myriad-", env!("CARGO_PKG_VERSION")),
        "address": address,
        "generation": site.runtime.loaded.generation,
        "load_timestamp": moment(site.runtime.loaded.at_ms),
        "timestamp": moment(myriad_net::clock::wall_ms()),
        "pid": std::process::id(),
        "ppid": std::os::unix::process::parent_id(),
    })
}

/// `processes`.
pub(super) fn processes() -> Value {
    json!({ "respawned": respawned().saturating_sub(RESPAWNED_BEFORE.load(Relaxed)) })
}

/// `DELETE processes`.
pub(super) fn reset_processes() {
    RESPAWNED_BEFORE.store(respawned(), Relaxed);
}

/// How often the supervisor has replaced a worker process that ended by itself, as it told this one.
fn respawned() -> u64 {
    let told = std::env::var("MYRIAD_RESPAWNED").ok();
    told.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// `connections`. Every connection that is accepted is served.
pub(super) fn connections(now: &Snapshot) -> Value {
    json!({
        "accepted": now.accepted,
        "dropped": 0,
        "active": now.active().saturating_sub(now.waiting()),
        "idle": now.waiting(),
    })
}

/// `http/requests`.
pub(super) fn requests(now: &Snapshot) -> Value {
    json!({ "total": now.begun, "current": now.writing() })
}

/// A worker, which is a thread here.
pub(super) fn worker(number: usize, now: &Snapshot) -> Map<String, Value> {
    members(json!({
        "id": number,
        "pid": std::process::id(),
        "connections": connections(now),
        "http": { "requests": requests(now) },
    }))
}

/// `license`: one that does not end.
pub(super) fn license(site: &Site) -> Value {
    json!({
        "active_till": NEVER_S,
        "eval": false,
        "reporting": { "healthy": true, "fails": 0, "grace": GRACE_S, "uuid": uuid(site) },
    })
}

/// A name of this installation (RFC 9562 section 5.8), the same after a restart.
fn uuid(site: &Site) -> String {
    let mut hash = Sha256::new();
    hash.update(&site.runtime.hostname);
    hash.update(site.runtime.prefix.as_os_str().as_encoded_bytes());
    let digest = hash.finalize();
    let mut bytes: [u8; 16] = std::array::from_fn(|at| digest[at]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = format!("{:032x}", u128::from_be_bytes(bytes));
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// The memory of a cache zone in pages. It has no slabs, so that there are no slots.
pub(super) fn slab(zone: &PageZone) -> Map<String, Value> {
    let stats = zone.zone.stats();
    let (used, most) = (stats.bytes as u64, stats.limit_bytes as u64);
    let used = used.div_ceil(PAGE);
    members(json!({
        "pages": { "used": used, "free": (most / PAGE).saturating_sub(used) },
        "slots": {},
    }))
}
