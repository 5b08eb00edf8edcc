//! Data of the pages: the sums over all workers at one moment.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::display_settings::DisplaySettings;
use myriad_exchange::counters::Snapshot;
use myriad_exchange::exchange::Request;
use myriad_exchange::traffic::{self, TrafficKey, TrafficKind, TrafficSums};
use myriad_store::page::PageZone;
use myriad_upstream::PeerConfig;

/// Time of the first compilation of a configuration with `vhost_traffic_status_zone` in this process, in milliseconds
/// since the epoch; reported as start time.
pub(super) static BEGAN_MS: LazyLock<u64> = LazyLock::new(myriad_net::clock::wall_ms);

/// Traffic counts summed over all workers, and general data of the process.
pub(super) struct TrafficReport<'a> {
    pub(super) request: &'a Request,
    pub(super) shown: &'a DisplaySettings,
    /// Current time, in milliseconds of the process clock ([`myriad_net::clock::now_ms`]).
    pub(super) now_ms: u64,
    pub(super) began_ms: u64,
    pub(super) connections: Snapshot,
    /// Total size in bytes and number of the keys under which traffic is counted, in all workers.
    pub(super) used: (u64, u64),
    sums: BTreeMap<TrafficKey, TrafficSums>,
}

/// Peer of an `upstream`, or an origin outside of these, and its counts.
pub(super) struct PeerTraffic {
    pub(super) address: String,
    /// Configuration of the peer; `None` if the current configuration does not contain it, and for an origin outside of
    /// `upstream` blocks.
    pub(super) config: Option<PeerConfig>,
    pub(super) sums: TrafficSums,
}

impl<'a> TrafficReport<'a> {
    pub(super) fn of(request: &'a Request, shown: &'a DisplaySettings) -> Self {
        let worker = &request.site.worker;
        let used = worker.all_counters.iter().map(|counters| counters.traffic.used());
        Self {
            request,
            shown,
            now_ms: myriad_net::clock::now_ms(),
            began_ms: *BEGAN_MS,
            connections: worker.total(),
            used: used.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1)),
            sums: traffic::all(&worker.all_counters),
        }
    }

    /// Returns the traffic counts of a kind (server, filter, ...), ordered by key.
    pub(super) fn of_kind(&self, kind: TrafficKind) -> impl Iterator<Item = (&TrafficKey, &TrafficSums)> {
        self.sums.iter().filter(move |(key, _)| key.kind() == kind)
    }

    /// Returns the traffic counts of one server, filter, origin or cache zone; `None` if there are none. `zone` is the
    /// group of a filter or the `upstream` of a peer, and empty for others.
    pub(super) fn one(&self, kind: TrafficKind, zone: &[u8], name: &[u8]) -> Option<&TrafficSums> {
        let found = self.of_kind(kind).find(|(key, _)| key.zone() == zone && key.name() == name);
        found.map(|(_, sums)| sums)
    }

    /// Returns the sum of the traffic counts of all servers.
    pub(super) fn total(&self) -> TrafficSums {
        let mut total = TrafficSums::default();
        self.of_kind(TrafficKind::Server).for_each(|(_, sums)| total.add(sums));
        total
    }

    /// Returns the keys and traffic counts of filters, by group.
    pub(super) fn groups(&self) -> BTreeMap<&[u8], Vec<(&[u8], &TrafficSums)>> {
        let mut groups: BTreeMap<&[u8], Vec<_>> = BTreeMap::new();
        for (key, sums) in self.of_kind(TrafficKind::Filter) {
            groups.entry(key.zone()).or_default().push((key.name(), sums));
        }
        groups
    }

    /// Returns the peers of each `upstream` by its name: the configured peers in order, then other peers with counts.
    pub(super) fn upstreams(&self) -> BTreeMap<&str, Vec<PeerTraffic>> {
        let mut upstreams: BTreeMap<&str, Vec<PeerTraffic>> = BTreeMap::new();
        for name in &self.shown.upstreams {
            let peers = upstreams.entry(name).or_default();
            let group = self.request.runtime().groups.get(name);
            for config in group.iter().flat_map(|group| group.group.peer_configs()) {
                let address = config.address.to_string();
                let sums = self.one(TrafficKind::Peer, name.as_bytes(), address.as_bytes());
                peers.push(PeerTraffic {
                    sums: sums.cloned().unwrap_or_default(),
                    address,
                    config: Some(config),
                });
            }
            for (key, sums) in
                self.of_kind(TrafficKind::Peer).filter(|(key, _)| key.zone() == name.as_bytes())
            {
                let address = String::from_utf8_lossy(key.name()).into_owned();
                if !peers.iter().any(|peer| peer.address == address) {
                    peers.push(PeerTraffic { address, config: None, sums: sums.clone() });
                }
            }
        }
        upstreams
    }

    /// Returns the cache zones with counts, and their maximum and used size in bytes.
    pub(super) fn caches(&self) -> Vec<(&str, &TrafficSums, (u64, u64))> {
        let zones = self.request.runtime().zone_list.iter().flatten();
        let counted = zones.filter_map(|zone| {
            let name = zone.zone.name();
            let sums = self.one(TrafficKind::Cache, b"", name.as_bytes())?;
            Some((name, sums, sizes(zone)))
        });
        counted.collect()
    }

    /// Returns all keys (kind, zone and name) with their traffic counts.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&TrafficKey, &TrafficSums)> {
        self.sums.iter()
    }

    /// Returns the average of `times` (pairs of the time of a request and its duration), in milliseconds.
    pub(super) fn average(&self, times: &[(u64, u64)]) -> u64 {
        self.shown.average.of(times, self.now_ms)
    }
}

/// Returns the maximum and used size of a cache zone in bytes: on disk, or in memory without a disk tier.
fn sizes(zone: &PageZone) -> (u64, u64) {
    let disk = zone.zone.disk_stats().zip(zone.zone.disk_limits());
    if let Some((stats, limits)) = disk {
        return (limits.max_bytes, stats.bytes);
    }
    let stats = zone.zone.stats();
    (stats.limit_bytes as u64, stats.bytes as u64)
}
