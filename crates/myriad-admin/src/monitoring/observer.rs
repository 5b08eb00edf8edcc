//! Work of the observer thread.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::protocol::monitoring::{ConnectionCounts, LiveTick, QueueReport, TierSize, WorkerTick, ZoneTick};
use crate::protocol::{AdminReply, PeerReport};
use bytes::Bytes;
use myriad_access::origin_protection::origin_queue;
use myriad_exchange::observation::{self, RecentEvent, RecentEventKind, SiteObservation};
use myriad_exchange::ranking::history::HistoryWrite;
use myriad_exchange::runtime::Runtime;
use myriad_store::page::PageZone;

use super::counts_snapshot::CountsSnapshot;
use super::encodings::ZoneScans;
use super::recorder::{Gauges, Recorder};
use super::{leaks, purges};
use crate::admin::{Administrator, zone_report};

/// Maximum number of upstream servers in a tick (the live event of each second).
const MOST_ORIGINS: usize = 200;
/// Interval since the last tick (live event), in milliseconds, above which a tick does not include the purges and
/// findings of the leak guard in between.
const MAX_EVENT_GAP_MS: u64 = 3_000;
/// Maximum number of events of each kind (purges, anonymous purges, findings of the leak guard) that are retained for
/// slow readers of live events.
const MAX_RECENT: usize = 100;

/// State of the observer thread, which publishes live events and records the history. No request waits for this thread.
pub struct SightObserver {
    sight: Arc<SiteObservation>,
    /// Snapshot of the counters at the last tick (live event).
    last: CountsSnapshot,
    recorder: Recorder,
    rounds: ZoneScans,
    /// Numbers of purges and of changes of leak guard findings that have already been published, by zone name.
    published: HashMap<String, PublishedOfZone>,
    /// Last purges and findings of the leak guard, oldest first.
    recent: VecDeque<RecentEvent>,
    /// Number of the last event in `recent`.
    numbered: u64,
}

/// Number of purges and of changes of leak guard findings of a zone that have already been published.
#[derive(Default)]
struct PublishedOfZone {
    purges: u64,
    leaks: u64,
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
            published: HashMap::new(),
            recent: VecDeque::new(),
            numbered: 0,
        };
        observer.take_events(runtime);
        observer.recent.clear();
        observer
    }

    /// Creates a tick (live event with the counts since the previous one) and publishes it to all readers of live
    /// events.
    pub fn tick(&mut self, runtime: &Runtime) {
        let look = CountsSnapshot::of(runtime);
        let administrator = Administrator::new(runtime);
        let tick = self.new_tick(runtime, &administrator, &look);
        self.take_events(runtime);
        if tick.interval_ms > MAX_EVENT_GAP_MS {
            // There was no reader for a while. Events of that time can be requested with `purges` and `leaks`.
            self.recent.clear();
        }
        let json = Bytes::from(serde_json::to_vec(&tick).unwrap_or_default());
        self.last = look;
        self.sight
            .live
            .publish(observation::Tick { at_ms: tick.at_ms, json }, self.recent.iter().cloned().collect());
    }

    /// Updates the current steps of the history with the present counts, and starts a new step for each that is
    /// complete. Returns the bytes to write to the history file; empty without history.
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

    /// Adds new purges, and new and changed findings of the leak guard, to `recent`; removes the oldest beyond
    /// [`MAX_RECENT`] of each kind.
    fn take_events(&mut self, runtime: &Runtime) {
        self.published.retain(|name, _| runtime.zones.keys().any(|zone| **zone == **name));
        let mut news = Vec::new();
        for zone in runtime.zones.values() {
            let name = zone.zone.name();
            let published = self.published.entry(name.to_owned()).or_default();
            let (total, purges) = zone.purges.after(published.purges);
            published.purges = total;
            news.extend(purges.into_iter().map(|purge| {
                let kind =
                    if purge.is_anonymous { RecentEventKind::AnonymousPurge } else { RecentEventKind::Purge };
                let event = purges::event(name, purge);
                (event.at_ms, kind, AdminReply::PurgeEvent(Box::new(event)))
            }));
            let (total, findings) = zone.leaks.findings_changed_after(published.leaks);
            published.leaks = total;
            let leaks = findings.into_iter().map(|finding| leaks::report(name, finding));
            news.extend(
                leaks.map(|leak| (leak.at_ms, RecentEventKind::Leak, AdminReply::Leak(Box::new(leak)))),
            );
        }
        news.sort_by_key(|(at_ms, ..)| *at_ms);
        for (_, kind, event) in news {
            self.numbered += 1;
            let json = Bytes::from(event.json());
            self.recent.push_back(RecentEvent { number: self.numbered, kind, json });
        }
        // Each kind has a separate limit: clients can cause any number of findings and of anonymous purges.
        for kind in RecentEventKind::ALL {
            let count = self.recent.iter().filter(|event| event.kind == kind).count();
            let mut excess = count.saturating_sub(MAX_RECENT);
            self.recent.retain(|event| {
                let is_dropped = event.kind == kind && excess > 0;
                excess -= usize::from(is_dropped);
                !is_dropped
            });
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
