//! Snapshot of all counters, and differences between snapshots.

use crate::admin::request_counts;
use crate::protocol::monitoring::{FirstByteTimes, Percentiles, TickCounts};
use myriad_exchange::counters::Snapshot;
use myriad_exchange::runtime::Runtime;
use myriad_exchange::traffic::{CacheSums, TimeHistogram, TrafficSnapshot};
use myriad_policy::CacheStatus;

/// Number of kinds of requests: one per cache status, in the order of the enum, then requests without a cache status.
pub(super) const KINDS: usize = CacheStatus::ALL.len() + 1;

/// Counters of requests and connections at one moment, since the start of the worker process; or the differences
/// between two such snapshots ([`Self::since`]).
#[derive(Clone, Debug, Default)]
pub(super) struct CountsSnapshot {
    pub at_ms: u64,
    pub total: Snapshot,
    pub workers: Vec<Snapshot>,
    /// Number of responses by the first digit of their status, 1 to 5.
    pub classes: [u64; 5],
    /// Number of requests by kind ([`KINDS`]).
    pub kinds: [u64; KINDS],
    /// Times to the first byte of requests served from the cache, of requests with another cache status, and of
    /// requests without a cache status.
    pub first_byte: [TimeHistogram; 3],
}

impl CountsSnapshot {
    pub(super) fn of(runtime: &Runtime) -> Self {
        let traffic = TrafficSnapshot::read(runtime);
        let total = traffic.total;
        let mut kinds: [u64; KINDS] = std::array::from_fn(|kind| traffic.by_cache[kind].requests());
        kinds[KINDS - 1] = total.requests.saturating_sub(kinds[..KINDS - 1].iter().sum());
        let mut classes = [0; 5];
        for (status, count) in &traffic.statuses {
            if let Some(class) = classes.get_mut(usize::from(status / 100).wrapping_sub(1)) {
                *class += count;
            }
        }
        let first_byte = first_byte(&traffic.by_cache);
        Self { at_ms: traffic.at_ms, total, workers: traffic.workers, classes, kinds, first_byte }
    }

    /// Returns percentiles of the times to the first byte: of all requests, of those served from the cache, of those
    /// with another cache status, and of those without a cache status.
    pub(super) fn percentiles(&self) -> FirstByteTimes {
        let [hit, miss, other] = &self.first_byte;
        FirstByteTimes {
            all: percentiles(&self.all()),
            hit: percentiles(hit),
            miss: percentiles(miss),
            other: percentiles(other),
        }
    }

    /// Returns the times to the first byte of all requests.
    pub(super) fn all(&self) -> TimeHistogram {
        self.first_byte.iter().fold(TimeHistogram::default(), TimeHistogram::plus)
    }

    /// Returns the counts as a part of a live event.
    pub(super) fn counts(&self) -> TickCounts {
        let [status_1xx, status_2xx, status_3xx, status_4xx, status_5xx] = self.classes;
        TickCounts {
            requests: self.total.requests,
            bytes: self.total.bytes,
            fetches: self.total.fetches,
            accepted: self.total.accepted,
            status_1xx,
            status_2xx,
            status_3xx,
            status_4xx,
            status_5xx,
            cache: request_counts(|status| self.kinds[status as usize]),
            uncached: self.kinds[KINDS - 1],
        }
    }

    /// Returns the counts since an earlier snapshot. Of `total`, only requests, bytes, fetches and accepted connections
    /// are differences; `workers` is empty.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let minus = |now: u64, before: u64| now.saturating_sub(before);
        let total = Snapshot {
            requests: minus(self.total.requests, earlier.total.requests),
            bytes: minus(self.total.bytes, earlier.total.bytes),
            fetches: minus(self.total.fetches, earlier.total.fetches),
            accepted: minus(self.total.accepted, earlier.total.accepted),
            ..self.total
        };
        Self {
            at_ms: self.at_ms,
            total,
            workers: Vec::new(),
            classes: std::array::from_fn(|class| minus(self.classes[class], earlier.classes[class])),
            kinds: std::array::from_fn(|kind| minus(self.kinds[kind], earlier.kinds[kind])),
            first_byte: std::array::from_fn(|of| self.first_byte[of].clone().since(&earlier.first_byte[of])),
        }
    }
}

/// Returns the times to the first byte of requests served from the cache (`HIT`, `STALE`, `UPDATING`), of requests with
/// another cache status, and of requests without a cache status.
fn first_byte(by_cache: &[CacheSums; KINDS]) -> [TimeHistogram; 3] {
    let mut times: [TimeHistogram; 3] = Default::default();
    for (kind, sums) in by_cache.iter().enumerate() {
        let of = match CacheStatus::ALL.iter().find(|status| **status as usize == kind) {
            Some(CacheStatus::Hit | CacheStatus::Stale | CacheStatus::Updating) => 0,
            Some(_) => 1,
            None => 2,
        };
        times[of] = std::mem::take(&mut times[of]).plus(&sums.first_byte);
    }
    times
}

/// Returns percentiles of times in milliseconds; `None` if there were no requests.
fn percentiles(times: &TimeHistogram) -> Option<Percentiles> {
    let count = times.count();
    let of = |part| times.quantile(part).unwrap_or_default() as f64 / 1000.0;
    (count > 0).then(|| Percentiles { count, p50: of(0.5), p90: of(0.9), p99: of(0.99), max: of(1.0) })
}
