//! Work of the observer thread.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::protocol::monitoring::{ConnectionCounts, LiveTick, QueueReport, TierSize, WorkerTick, ZoneTick};
use crate::protocol::{AdminReply, PeerReport};
use bytes::Bytes;
use myriad_access::origin_protection::origin_queue;
use myriad_exchange::observation::{self, SiteObservation};
use myriad_exchange::ranking::history::HistoryWrite;
use myriad_exchange::runtime::Runtime;
use myriad_store::page::PageZone;

use super::counts_snapshot::CountsSnapshot;
use super::encodings::ZoneScans;
use super::purges::event;
use super::recorder::{Gauges, Recorder};
use crate::admin::{Administrator, zone_report};

/// Maximum number of upstream servers in a tick (the live event of each second).
const MOST_ORIGINS: usize = 200;
/// Interval since the last tick (live event), in milliseconds, above which a tick does not include the purges in
/// between.
const MAX_PURGE_GAP_MS: u64 = 3_000;
/// Maximum number of purges that are retained for slow readers of live events.
const LAST_PURGES: usize = 100;

/// State of the observer thread, which publishes live events and records the history. No request waits for this thread.
pub struct SightObserver {
    sight: Arc<SiteObservation>,
    /// Snapshot of the counters at the last tick (live event).
    last: CountsSnapshot,
    recorder: Recorder,
    rounds: ZoneScans,
    /// Number of entries of each zone's purge log that have already been published, by zone name.
    purges_sent: HashMap<String, u64>,
    /// Last purges as JSON, each with its sequence number.
    purges: VecDeque<(u64, Bytes)>,
    numbered: u64,
}

impl SightObserver {
    /// Creates an observer whose first live event counts from now on.
    pub fn new(sight: Arc<SiteObservation>, runtime: &Runtime) -> Self {
        let last = CountsSnapshot::of(runtime);
        let recorder = Recorder::new(&last);
        let mut observer = Self {
            sight,
            last,
            recorder,
            rounds: ZoneScans::default(),
            purges_sent: HashMap::new(),
            purges: VecDeque::new(),
            numbered: 0,
        };
        observer.take_purges(runtime);
        observer.purges.clear();
        observer
    }

    /// Creates a tick (live event with the counts since the previous one) and publishes it to all readers of live
    /// events.
    pub fn tick(&mut self, runtime: &Runtime) {
        let look = CountsSnapshot::of(runtime);
        let administrator = Administrator::new(runtime);
        let tick = self.new_tick(runtime, &administrator, &look);
        self.take_purges(runtime);
        if tick.interval_ms > MAX_PURGE_GAP_MS {
            // There was no reader for a while. Purges of that time can be requested with `purges`.
            self.purges.clear();
        }
        let json = Bytes::from(serde_json::to_vec(&tick).unwrap_or_default());
        self.last = look;
        self.sight
            .live
            .publish(observation::Tick { at_ms: tick.at_ms, json }, self.purges.iter().cloned().collect());
    }

    /// Updates the current steps of the history with the present counts, and starts new ones. Returns the bytes to
    /// write to the history file; empty without history.
    pub fn record(&mut self, runtime: &Runtime) -> Vec<HistoryWrite> {
        let look = CountsSnapshot::of(runtime);
        self.recorder.gauge(&gauges(runtime, &look));
        let mut history = self.sight.history.lock();
        history.as_mut().map_or_else(Vec::new, |history| self.recorder.record(history, &look))
    }

    fn new_tick(
        &mut self,
        runtime: &Runtime,
        administrator: &Administrator,
        look: &CountsSnapshot,
    ) -> LiveTick {
        let delta = look.since(&self.last);
        let now = look.total;
        let workers = look.workers.iter().enumerate().map(|(worker, snapshot)| WorkerTick {
            worker,
            requests: snapshot.requests,
            active: snapshot.active(),
        });
        let zones = &administrator.zones;
        self.rounds.retain_zones(|name| zones.iter().any(|zone| zone.zone.name() == name));
        self.recorder.gauge(&gauges(runtime, look));
        LiveTick {
            at_ms: look.at_ms,
            interval_ms: look.at_ms.saturating_sub(self.last.at_ms),
            started_ms: self.sight.started_ms,
            reloads: self.sight.reloads.load(Relaxed),
            readers: self.sight.live.readers(),
            total: look.counts(),
            delta: delta.counts(),
            first_byte: delta.percentiles(),
            connections: ConnectionCounts {
                active: now.active(),
                reading: now.reading,
                writing: now.writing(),
                waiting: now.waiting(),
            },
            memory: administrator.memory.tick(),
            origins: origins(administrator),
            queues: origin_queue::reports()
                .into_iter()
                .map(|queue| QueueReport {
                    name: queue.name,
                    asking: queue.in_flight,
                    waiting: queue.waiting,
                    limit: queue.limit,
                })
                .collect(),
            zones: zones.iter().map(|zone| self.zone(zone, look.at_ms)).collect(),
            workers: workers.collect(),
        }
    }

    fn zone(&mut self, zone: &PageZone, now_ms: u64) -> ZoneTick {
        let report = zone_report(zone);
        let (encodings, encodings_at_ms) = self.rounds.step(zone, now_ms);
        let memory = report.memory;
        ZoneTick {
            zone: report.zone,
            memory: TierSize {
                pages: memory.pages,
                bytes: memory.bytes,
                limit_bytes: Some(memory.limit_bytes),
            },
            disk: report.disk.map(|disk| TierSize {
                pages: disk.files,
                bytes: disk.bytes,
                limit_bytes: disk.limit_bytes,
            }),
            requests: report.requests,
            fetching: report.fetching,
            stored: report.stored,
            purged: report.purged,
            encodings,
            encodings_at_ms,
        }
    }

    /// Adds new entries of the zones' purge logs to `purges`.
    fn take_purges(&mut self, runtime: &Runtime) {
        self.purges_sent.retain(|name, _| runtime.zones.keys().any(|zone| **zone == **name));
        let mut news = Vec::new();
        for zone in runtime.zones.values() {
            let sent = self.purges_sent.entry(zone.zone.name().to_owned()).or_default();
            let (noted, notes) = zone.purges.after(*sent);
            *sent = noted;
            news.extend(notes.into_iter().map(|note| event(zone.zone.name(), note)));
        }
        news.sort_by_key(|event| event.at_ms);
        for event in news {
            self.numbered += 1;
            self.purges
                .push_back((self.numbered, Bytes::from(AdminReply::PurgeEvent(Box::new(event)).json())));
        }
        while self.purges.len() > LAST_PURGES {
            self.purges.pop_front();
        }
    }
}

fn origins(administrator: &Administrator) -> Vec<PeerReport> {
    let groups = administrator.groups.iter();
    let peers = groups.flat_map(|(block, group)| {
        group.peers(None).into_iter().map(move |peer| crate::admin::peer_report(block, group, peer))
    });
    peers.take(MOST_ORIGINS).collect()
}

fn gauges(runtime: &Runtime, look: &CountsSnapshot) -> Gauges {
    let zones = runtime.zones.values();
    let (mut memory_bytes, mut disk_bytes) = (0, 0);
    for zone in zones {
        let stats = zone.zone.stats();
        memory_bytes += stats.bytes.saturating_sub(stats.unused_notes) as u64;
        disk_bytes += zone.zone.disk_stats().map_or(0, |disk| disk.bytes);
    }
    let peers = runtime.groups.values().flat_map(|group| group.group.control().peers(None));
    let (mut active, mut listening) = (0, 0);
    for peer in peers {
        active += u64::from(peer.active);
        listening += u64::from(peer.pool.map_or(0, |pool| pool.listen_queue));
    }
    let waiting = origin_queue::reports().iter().map(|queue| queue.waiting).sum();
    Gauges { connections: look.total.active(), memory_bytes, disk_bytes, load: [active, listening, waiting] }
}
