//! All counts of a site at one moment.

use myriad_page::ZoneSums as CacheZoneSums;
use myriad_upstream::PeerSnapshot;

use super::queues::QueueSums;
use super::served::{CACHES, CacheSums, ServedSums, VERSION_NAMES};
use super::tls::TlsSums;
use super::zone::{ZoneKind, ZoneSums};
use crate::counters::Snapshot;
use crate::runtime::Runtime;

/// All counts of a site, summed over its workers. They are read one after the other: under load they may be some requests apart.
#[derive(Clone, Debug, Default)]
pub struct TrafficSnapshot {
    /// When the worker process began to count, milliseconds since the epoch.
    pub began_ms: u64,
    /// When they were read.
    pub at_ms: u64,
    /// Connections, and what all requests came to.
    pub total: Snapshot,
    /// The same by worker.
    pub workers: Vec<Snapshot>,
    /// Answers by their status, rising.
    pub statuses: Vec<(u16, u64)>,
    /// Requests that ended without an answer.
    pub discarded: u64,
    /// Bytes of requests.
    pub received: u64,
    /// Requests by version ([`super::VERSION_NAMES`]), without TLS and with it.
    pub versions: [[u64; 2]; VERSION_NAMES.len()],
    /// Answers by cache status ([`super::CACHE_NAMES`]).
    pub by_cache: [CacheSums; CACHES],
    /// Requests by the class of the robot, in the order of the names; the empty name is of those that are none.
    pub bots: Vec<(String, u64)>,
    /// Handshakes.
    pub tls: TlsSums,
    /// What was saved.
    pub saved: SavedSums,
    /// Servers, in the order of the names.
    pub servers: Vec<ZoneSums>,
    /// Locations with a `status_zone`, in the order of the names.
    pub locations: Vec<ZoneSums>,
    /// Cache zones, in the order of the names.
    pub caches: Vec<CacheZoneSums>,
    /// The groups of `http`, in the order of the names.
    pub upstreams: Vec<UpstreamSums>,
    /// The queues before origins that were asked, in the order of the names.
    pub queues: Vec<QueueSums>,
}

/// What caching and compressing have saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SavedSums {
    /// Bytes of bodies that came from a cache and not from an origin.
    pub cache_bytes: u64,
    /// Bytes that did not have to be sent, as they were sent compressed.
    pub coding_bytes: u64,
    /// Microseconds that origins did not work: each page that a cache gave counts what its own fetch had taken.
    pub origin_us: u64,
}

/// A group of origins.
#[derive(Clone, Debug)]
pub struct UpstreamSums {
    /// Its name.
    pub name: String,
    /// Its servers, in the order of the configuration.
    pub peers: Vec<PeerSnapshot>,
}

impl TrafficSnapshot {
    /// Reads the counts of a site. It takes some 0.1 ms, and half a microsecond more for each zone; with thousands of these not to be
    /// called on the thread of a worker.
    pub fn read(runtime: &Runtime) -> Self {
        let traffic = &runtime.traffic;
        let mut served = ServedSums::default();
        traffic.workers.iter().for_each(|worker| worker.served.read(&mut served));
        let workers: Vec<Snapshot> = traffic.workers.iter().map(|worker| worker.snapshot()).collect();
        let saved = SavedSums {
            cache_bytes: from_cache(&served.by_cache),
            coding_bytes: served.coding_bytes,
            origin_us: served.origin_us,
        };
        let zones = |kind| runtime.traffic_zones.iter().filter(move |zone| zone.kind() == kind);
        Self {
            began_ms: traffic.began_ms,
            at_ms: myriad_net::clock::wall_ms(),
            total: workers.iter().copied().sum(),
            workers,
            statuses: served.statuses.into_iter().collect(),
            discarded: served.discarded,
            received: served.received,
            versions: served.versions,
            by_cache: served.by_cache,
            bots: served.bots.into_iter().collect(),
            tls: TlsSums::of(traffic.workers.iter().map(|worker| worker.served.tls())),
            saved,
            servers: zones(ZoneKind::Server).map(|zone| zone.sums()).collect(),
            locations: zones(ZoneKind::Location).map(|zone| zone.sums()).collect(),
            caches: caches(runtime),
            upstreams: upstreams(runtime),
            queues: traffic.queues(),
        }
    }
}

/// The bytes of what came from a cache: hits, and pages that were stale.
fn from_cache(by_cache: &[CacheSums; CACHES]) -> u64 {
    use myriad_policy::CacheStatus::{Hit, Revalidated, Stale, Updating};
    [Hit, Stale, Updating, Revalidated].iter().map(|status| by_cache[*status as usize].bytes).sum()
}

fn caches(runtime: &Runtime) -> Vec<CacheZoneSums> {
    let mut caches: Vec<CacheZoneSums> =
        runtime.zones.values().map(|zone| zone.counts.sums(zone.zone.name())).collect();
    caches.sort_by(|one, other| one.name.cmp(&other.name));
    caches
}

fn upstreams(runtime: &Runtime) -> Vec<UpstreamSums> {
    let mut groups: Vec<UpstreamSums> = runtime
        .groups
        .values()
        .map(|group| {
            let control = group.group.control();
            UpstreamSums { name: control.name().to_owned(), peers: control.peers(None) }
        })
        .collect();
    groups.sort_by(|one, other| one.name.cmp(&other.name));
    groups
}
