//! Objects about the server as a whole.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use myriad_exchange::counters::Snapshot;
use myriad_store::page::PageZone;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::node::members;
use super::site::{SiteView, moment};

/// Version of nginx whose configuration language is supported (value of `$nginx_version`).
const NGINX_VERSION: &str = "1.31.4";
/// Reported expiry of the license, in seconds since the epoch: the year 2100. Myriad needs no license.
const NEVER_S: u64 = 4_102_444_800;
/// Reported grace period of the license, in seconds: 180 days, as in NGINX Plus.
const GRACE_S: u64 = 15_552_000;
/// Size of a memory page in the reported figures, in bytes.
const PAGE: u64 = 4096;

/// Value of [`respawned`] (restarts of worker processes) at the last reset by the API.
static RESPAWNED_BEFORE: AtomicU64 = AtomicU64::new(0);

/// Returns the API object `nginx`: version, process and configuration. `address` is the local address of the client's
/// connection.
pub(super) fn nginx(site: &SiteView, address: &str) -> Value {
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

/// Returns the API object `processes`, with the number of worker processes that were restarted since its last reset.
pub(super) fn processes() -> Value {
    json!({ "respawned": respawned().saturating_sub(RESPAWNED_BEFORE.load(Relaxed)) })
}

/// Executes `DELETE processes`, which resets the number of restarted worker processes.
pub(super) fn reset_processes() {
    RESPAWNED_BEFORE.store(respawned(), Relaxed);
}

/// Returns the number of worker processes that the supervisor has restarted after an unexpected exit, which it passes
/// in the environment.
fn respawned() -> u64 {
    let value = std::env::var("MYRIAD_RESPAWNED").ok();
    value.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Returns the API object `connections` (client connections). `active` excludes idle connections; `dropped` is always
/// 0.
pub(super) fn connections(now: &Snapshot) -> Value {
    json!({
        "accepted": now.accepted,
        "dropped": 0,
        "active": now.active().saturating_sub(now.waiting()),
        "idle": now.waiting(),
    })
}

/// Returns the API object `http/requests`: total and current requests.
pub(super) fn requests(now: &Snapshot) -> Value {
    json!({ "total": now.begun, "current": now.writing() })
}

/// Returns the API object of a worker. Workers are threads, so all have the same `pid`.
pub(super) fn worker(number: usize, now: &Snapshot) -> Map<String, Value> {
    members(json!({
        "id": number,
        "pid": std::process::id(),
        "connections": connections(now),
        "http": { "requests": requests(now) },
    }))
}

/// Returns the API object `license`, which does not expire in practice.
pub(super) fn license(site: &SiteView) -> Value {
    json!({
        "active_till": NEVER_S,
        "eval": false,
        "reporting": { "healthy": true, "fails": 0, "grace": GRACE_S, "uuid": uuid(site) },
    })
}

/// Returns a UUID of this installation (RFC 9562 section 5.8), derived from the host name and the prefix folder, so
/// that a restart does not change it.
fn uuid(site: &SiteView) -> String {
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

/// Returns the memory of a cache zone as an API object of the kind `slab`. Zones have no slots, so that list is empty.
pub(super) fn slab(zone: &PageZone) -> Map<String, Value> {
    let stats = zone.zone.stats();
    let (used, most) = (stats.bytes as u64, stats.limit_bytes as u64);
    let used = used.div_ceil(PAGE);
    members(json!({
        "pages": { "used": used, "free": (most / PAGE).saturating_sub(used) },
        "slots": {},
    }))
}
