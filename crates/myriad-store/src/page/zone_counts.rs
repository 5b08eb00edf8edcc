//! Counters of a zone: its requests by cache status, and the results of its last purges.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use myriad_policy::CacheStatus;
use parking_lot::Mutex;

use crate::page::Counter;

/// Number of workers with separate counters. Further workers share one set.
const WORKERS: usize = 64;
const STATUSES: usize = CacheStatus::ALL.len();
/// Maximum number of purge results stored for commands that wait for them.
const MAX_RESULTS: usize = 1024;

/// Counters of a worker, aligned so that two workers never write to the same cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct WorkerCounters([[Counter; FIGURES]; STATUSES]);

/// Number of figures per cache status, in the order of the fields of [`CacheZoneCount`].
const FIGURES: usize = 4;

/// Requests by `$upstream_cache_status`.
#[derive(Debug)]
pub struct ZoneCounts {
    workers: Box<[WorkerCounters]>,
    /// Counters of all workers beyond the first [`WORKERS`].
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
    /// Counts a request, and the bytes of its response body. Must be called on the thread of that worker.
    pub fn add(&self, worker: usize, status: CacheStatus, bytes: u64) {
        self.add_figures(worker, status, [(0, 1), (1, bytes)]);
    }

    /// Counts a page stored for a request of that status. Must be called on the thread of that worker.
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

    /// Returns the number of requests of a status, of all workers.
    pub fn of(&self, status: CacheStatus) -> u64 {
        self.figure(status as usize, 0)
    }

    fn figure(&self, status: usize, figure: usize) -> u64 {
        let own: u64 = self.workers.iter().map(|own| own.0[status][figure].get()).sum();
        own + self.others[status][figure].load(Relaxed)
    }

    /// Returns all counts of the zone, under its name.
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
    /// Name of the zone.
    pub name: String,
    /// In the order of [`CacheStatus::ALL`].
    pub by_status: [CacheZoneCount; STATUSES],
}

/// Requests of one cache status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheZoneCount {
    /// Number of responses.
    pub responses: u64,
    /// Number of bytes of their bodies that were sent.
    pub bytes: u64,
    /// Number of pages stored for them.
    pub responses_written: u64,
    /// Number of bytes of the bodies of these pages.
    pub bytes_written: u64,
}

/// Number of pages covered by the last purges by pattern, by the purge's number in the zone's sequence.
#[derive(Debug, Default)]
pub struct PurgeResults(Mutex<VecDeque<(u64, usize)>>);

impl PurgeResults {
    /// Records the result of a purge.
    pub fn note(&self, number: u64, count: usize) {
        let mut ends = self.0.lock();
        if ends.len() == MAX_RESULTS {
            ends.pop_front();
        }
        ends.push_back((number, count));
    }

    /// Returns the number of pages covered by a purge; `None` if it is not complete, or was completed too long ago.
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
