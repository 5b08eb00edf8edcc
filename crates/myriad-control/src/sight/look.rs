//! All counts at one moment, and what happened between two.

use std::sync::Arc;

use myriad_admin::RequestCounts;
use myriad_admin::sight::Counts;
use myriad_exchange::counters::{Counters, Snapshot};
use myriad_exchange::runtime::Runtime;
use myriad_exchange::sight::Sight;
use myriad_policy::CacheStatus;

/// Kinds of requests: by cache status in the order of its discriminants, then those that have none.
pub(super) const KINDS: usize = CacheStatus::ALL.len() + 1;

/// All counts since the worker process began.
#[derive(Clone, Debug, Default)]
pub(super) struct Look {
    pub at_ms: u64,
    pub total: Snapshot,
    pub workers: Vec<Snapshot>,
    /// Answers by the first digit of their status, 1 to 5.
    pub classes: [u64; 5],
    /// Requests by kind.
    pub kinds: [u64; KINDS],
}

impl Look {
    pub(super) fn of(runtime: &Runtime, workers: &[Arc<Counters>], sight: &Sight) -> Self {
        let workers: Vec<Snapshot> = workers.iter().map(|counters| counters.snapshot()).collect();
        let total: Snapshot = workers.iter().copied().sum();
        let mut kinds = [0; KINDS];
        for zone in runtime.zones.values() {
            for status in CacheStatus::ALL {
                kinds[status as usize] += zone.counts.of(status);
            }
        }
        kinds[KINDS - 1] = total.requests.saturating_sub(kinds[..KINDS - 1].iter().sum());
        let classes = std::array::from_fn(|class| sight.classes.iter().map(|own| own.0[class].get()).sum());
        Self { at_ms: myriad_net::clock::now_ms(), total, workers, classes, kinds }
    }

    /// The counts as they are told.
    pub(super) fn counts(&self) -> Counts {
        let of = |status: CacheStatus| self.kinds[status as usize];
        let [status_1xx, status_2xx, status_3xx, status_4xx, status_5xx] = self.classes;
        Counts {
            requests: self.total.requests,
            bytes: self.total.bytes,
            fetches: self.total.fetches,
            accepted: self.total.accepted,
            status_1xx,
            status_2xx,
            status_3xx,
            status_4xx,
            status_5xx,
            cache: RequestCounts {
                hit: of(CacheStatus::Hit),
                miss: of(CacheStatus::Miss),
                expired: of(CacheStatus::Expired),
                stale: of(CacheStatus::Stale),
                updating: of(CacheStatus::Updating),
                revalidated: of(CacheStatus::Revalidated),
                bypass: of(CacheStatus::Bypass),
            },
            uncached: self.kinds[KINDS - 1],
        }
    }

    /// What happened since an earlier look. A zone that a reload has taken away takes its counts along: then nothing is told of it.
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
        }
    }
}
