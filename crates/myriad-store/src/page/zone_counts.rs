//! Counters of a zone's requests by cache status, and results of its last purges.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use myriad_policy::CacheStatus;
use parking_lot::Mutex;

use crate::page::Counter;

/// Number of workers with their own counters per cache zone. All further workers share one set of counters.
const WORKERS: usize = 64;
const STATUSES: usize = CacheStatus::ALL.len();
/// Maximum number of purge results that are retained for commands which wait for them.
const MAX_RESULTS: usize = 1024;

/// Counters of one worker for a cache zone, aligned so that no two workers write to the same cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct WorkerCounters([[Counter; FIGURES]; STATUSES]);

/// Number of counters per cache status, in the order of the fields of [`CacheZoneCount`].
const FIGURES: usize = 4;

/// Counters of a zone by cache status: requests and their body bytes, and pages stored for requests and their body
/// bytes.
#[derive(Debug)]
pub struct ZoneCounts {
    workers: Box<[WorkerCounters]>,
    /// Counters shared by all workers beyond the first [`WORKERS`].
    others: [[AtomicU64; FIGURES]; STATUSES],
}

impl Default for ZoneCounts {
    fn default() -> Self {
        Self {
            workers: (0..WORKERS).map(|_| WorkerCounters::default()).collect(),
            others: Default::default(),
        }
    }
}

impl ZoneCounts {
    /// Counts a finished request with its cache status, and the bytes of its body that were sent. Must be called on the
    /// thread of worker `worker`.
    pub fn add(&self, worker: usize, status: CacheStatus, bytes: u64) {
        self.add_figures(worker, status, [(0, 1), (1, bytes)]);
    }

    /// Counts a page with a body of `bytes` bytes that was stored for a request with this status. Must be called on the
    /// thread of worker `worker`.
    pub fn add_written(&self, worker: usize, status: CacheStatus, bytes: u64) {
        self.add_figures(worker, status, [(2, 1), (3, bytes)]);
    }

    fn add_figures(&self, worker: usize, status: CacheStatus, figures: [(usize, u64); 2]) {
        for (figure, count) in figures {
            match self.workers.get(worker) {
                Some(own) => own.0[status as usize][figure].add(count),
                None => _ = self.others[status as usize][figure].fetch_add(count, Relaxed),
            }
        }
    }

    /// Returns the number of requests with a cache status, of all workers.
    pub fn of(&self, status: CacheStatus) -> u64 {
        self.figure(status as usize, 0)
    }

    fn figure(&self, status: usize, figure: usize) -> u64 {
        let own: u64 = self.workers.iter().map(|own| own.0[status][figure].get()).sum();
        own + self.others[status][figure].load(Relaxed)
    }

    /// Returns all counts of the zone, summed over workers. `name` is the name of the zone.
    pub fn sums(&self, name: &str) -> ZoneSums {
        let by_status = std::array::from_fn(|status| CacheZoneCount {
            responses: self.figure(status, 0),
            bytes: self.figure(status, 1),
            responses_written: self.figure(status, 2),
            bytes_written: self.figure(status, 3),
        });
        ZoneSums { name: name.to_owned(), by_status }
    }
}

/// Counts of a cache zone at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneSums {
    /// Name of the cache zone.
    pub name: String,
    /// Counts by cache status, in the order of [`CacheStatus::ALL`].
    pub by_status: [CacheZoneCount; STATUSES],
}

/// Counts of the requests with one cache status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheZoneCount {
    /// Number of responses with this cache status.
    pub responses: u64,
    /// Number of body bytes sent in these responses.
    pub bytes: u64,
    /// Number of pages that were stored for these requests.
    pub responses_written: u64,
    /// Number of body bytes of the stored pages.
    pub bytes_written: u64,
}

/// Numbers of pages covered by recent purges that were counted in the background, by the number of the purge in the
/// zone's sequence.
#[derive(Debug, Default)]
pub struct PurgeResults(Mutex<VecDeque<(u64, usize)>>);

impl PurgeResults {
    /// Records the number of pages that purge `number` covered.
    pub fn note(&self, number: u64, count: usize) {
        let mut ends = self.0.lock();
        if ends.len() == MAX_RESULTS {
            ends.pop_front();
        }
        ends.push_back((number, count));
    }

    /// Returns the number of pages that a purge covered; `None` if they are still being counted, the result was dropped,
    /// or the purge was counted immediately.
    pub fn of(&self, number: u64) -> Option<usize> {
        self.0.lock().iter().find(|(other, _)| *other == number).map(|(_, count)| *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_worker_s_requests_are_counted() {
        let counts = ZoneCounts::default();
        for worker in [0, 1, WORKERS - 1, WORKERS, WORKERS + 100] {
            counts.add(worker, CacheStatus::Hit, 10);
        }
        counts.add(0, CacheStatus::Bypass, 0);
        counts.add_written(1, CacheStatus::Miss, 7);
        assert_eq!((counts.of(CacheStatus::Hit), counts.of(CacheStatus::Bypass)), (5, 1));
        assert_eq!(counts.of(CacheStatus::Miss), 0);
        let sums = counts.sums("one").by_status;
        let hit = CacheZoneCount { responses: 5, bytes: 50, ..CacheZoneCount::default() };
        let miss = CacheZoneCount { responses_written: 1, bytes_written: 7, ..CacheZoneCount::default() };
        assert_eq!((sums[CacheStatus::Hit as usize], sums[CacheStatus::Miss as usize]), (hit, miss));
    }

    #[test]
    fn results_of_latest_purges_are_retained() {
        let ends = PurgeResults::default();
        (0..=MAX_RESULTS as u64).for_each(|number| ends.note(number, 7));
        assert_eq!((ends.of(0), ends.of(1), ends.of(MAX_RESULTS as u64)), (None, Some(7), Some(7)));
    }
}
