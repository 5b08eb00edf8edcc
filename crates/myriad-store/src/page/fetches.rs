//! Limits for concurrent and queued fetches of a zone.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use myriad_log::LogRateLimit;
use myriad_upstream::{WaitQueue, WaitTicket};

/// Limits for concurrent fetches of pages into a cache zone (`max_fetches=`, `fetch_queue=`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchLimits {
    /// Maximum number of concurrent fetches of the zone, at least 1.
    pub max_running: usize,
    /// Maximum number of fetches of the zone that wait for their turn.
    pub queue: usize,
}

/// Limiter of concurrent fetches into a cache zone. All workers share it, and it survives reloads.
#[derive(Debug, Default)]
pub struct FetchLimiter {
    max_running: AtomicUsize,
    queue: AtomicUsize,
    running: AtomicUsize,
    waiters: WaitQueue,
    /// Limits log messages about fetches that got no permit to one per second.
    pub log_limit: LogRateLimit,
}

/// Permission for a fetch in progress. Dropping it permits the next fetch.
#[derive(Debug)]
pub struct FetchPermit(Arc<FetchLimiter>);

/// Result of a request for permission to fetch.
#[derive(Debug)]
pub enum FetchAdmission {
    /// The fetch may begin.
    Now(FetchPermit),
    /// The fetch must wait for its turn.
    Wait(Arc<FetchLimiter>, WaitTicket),
}

impl FetchLimiter {
    /// Changes the limits of concurrent and waiting fetches, and wakes the first waiting fetch. Fetches in progress
    /// beyond a lower limit continue.
    pub fn set_limits(&self, bounds: FetchLimits) {
        self.max_running.store(bounds.max_running, Relaxed);
        self.queue.store(bounds.queue, Relaxed);
        self.waiters.wake_first();
    }

    /// Returns a permit if a fetch may begin at once and no other fetch is waiting, otherwise `None`.
    pub fn try_begin(self: &Arc<Self>) -> Option<FetchPermit> {
        if self.waiters.is_empty() { self.admit() } else { None }
    }

    /// Returns whether a fetch is in progress.
    pub fn is_busy(&self) -> bool {
        self.running.load(Relaxed) > 0
    }

    /// Returns permission for a fetch, or a place in the queue of fetches; `None` if the queue is full.
    pub fn begin_or_queue(self: &Arc<Self>) -> Option<FetchAdmission> {
        if let Some(fetching) = self.try_begin() {
            return Some(FetchAdmission::Now(fetching));
        }
        let turn = self.waiters.join(self.queue.load(Relaxed))?;
        Some(FetchAdmission::Wait(Arc::clone(self), turn))
    }

    fn admit(self: &Arc<Self>) -> Option<FetchPermit> {
        let most = self.max_running.load(Relaxed);
        let more = |running: usize| (running < most).then_some(running + 1);
        self.running.fetch_update(Relaxed, Relaxed, more).ok()?;
        Some(FetchPermit(Arc::clone(self)))
    }
}

impl FetchAdmission {
    /// Waits until the fetch may begin, at most `patience_ms` milliseconds; `None` after that.
    pub async fn wait_for_turn(self, patience_ms: u64) -> Option<FetchPermit> {
        match self {
            Self::Now(fetching) => Some(fetching),
            Self::Wait(fetches, mut turn) => {
                let called = poll_fn(|cx| turn.poll(cx, || fetches.admit()));
                tokio::time::timeout(Duration::from_millis(patience_ms), called).await.ok()
            }
        }
    }
}

impl Drop for FetchPermit {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Relaxed);
        self.0.waiters.wake_first();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetches(most: usize, queue: usize) -> Arc<FetchLimiter> {
        let fetches = Arc::<FetchLimiter>::default();
        fetches.set_limits(FetchLimits { max_running: most, queue });
        fetches
    }

    #[test]
    fn what_is_under_way_and_what_waits_are_bounded() {
        let fetches = fetches(1, 1);
        let first = fetches.try_begin().expect("room");
        let Some(waiting @ FetchAdmission::Wait(..)) = fetches.begin_or_queue() else {
            panic!("the first is under way")
        };
        assert!(fetches.begin_or_queue().is_none(), "the queue is full");
        drop(first);
        assert!(fetches.try_begin().is_none(), "behind who waits");
        drop(waiting);
        assert!(fetches.try_begin().is_some());
    }

    #[test]
    fn raised_fetch_bound_admits_waiting_fetch() {
        let fetches = fetches(1, 1);
        let _first = fetches.try_begin().expect("room");
        let entry = fetches.begin_or_queue().expect("a turn");
        fetches.set_limits(FetchLimits { max_running: 2, queue: 1 });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        assert!(runtime.block_on(entry.wait_for_turn(60_000)).is_some());
    }

    #[test]
    fn reached_bound_is_reported_at_most_once_per_second() {
        let fetches = fetches(1, 1);
        let admitted: Vec<_> = [5000, 5999, 6000, 6001].map(|now| fetches.log_limit.admits(now)).into();
        assert_eq!(admitted, [true, false, true, false]);
    }
}
