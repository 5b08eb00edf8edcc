//! Counts of a zone: its requests by cache status, and how its last purges ended.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use myriad_policy::CacheStatus;
use parking_lot::Mutex;

use crate::Counter;

/// Workers that have counters of their own; those beyond share one set.
const WORKERS: usize = 64;
const STATUSES: usize = CacheStatus::ALL.len();
/// Most ends of purges that are kept for commands that wait for them.
const ENDS: usize = 1024;

/// Counts of one worker, aligned so that two workers never write to one cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Own([Counter; STATUSES]);

/// Requests by `$upstream_cache_status`.
#[derive(Debug)]
pub struct ZoneCounts {
    workers: Box<[Own]>,
    /// Counts of all workers beyond the first [`WORKERS`].
    others: [AtomicU64; STATUSES],
}

impl Default for ZoneCounts {
    fn default() -> Self {
        Self { workers: (0..WORKERS).map(|_| Own::default()).collect(), others: Default::default() }
    }
}

impl ZoneCounts {
    /// Counts a request. To be called on the thread of that worker only.
    pub fn add(&self, worker: usize, status: CacheStatus) {
        match self.workers.get(worker) {
            Some(own) => own.0[status as usize].add(1),
            None => _ = self.others[status as usize].fetch_add(1, Relaxed),
        }
    }

    /// Sums over all workers.
    pub fn of(&self, status: CacheStatus) -> u64 {
        let own: u64 = self.workers.iter().map(|own| own.0[status as usize].get()).sum();
        own + self.others[status as usize].load(Relaxed)
    }
}

/// Pages that the last purges by pattern covered, by the purge's number in the zone's sequence.
#[derive(Debug, Default)]
pub struct PurgeEnds(Mutex<VecDeque<(u64, usize)>>);

impl PurgeEnds {
    /// Notes the end of a purge.
    pub fn note(&self, number: u64, count: usize) {
        let mut ends = self.0.lock();
        if ends.len() == ENDS {
            ends.pop_front();
        }
        ends.push_back((number, count));
    }

    /// Pages that a purge covered; `None` if it has not ended, or ended too long ago to be kept.
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
            counts.add(worker, CacheStatus::Hit);
        }
        counts.add(0, CacheStatus::Bypass);
        assert_eq!((counts.of(CacheStatus::Hit), counts.of(CacheStatus::Bypass)), (5, 1));
        assert_eq!(counts.of(CacheStatus::Miss), 0);
    }

    #[test]
    fn the_last_ends_are_kept() {
        let ends = PurgeEnds::default();
        (0..=ENDS as u64).for_each(|number| ends.note(number, 7));
        assert_eq!((ends.of(0), ends.of(1), ends.of(ENDS as u64)), (None, Some(7), Some(7)));
    }
}
