//! Fetches into a zone: limits for concurrent and queued fetches.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use myriad_log::OnceASecond;
use myriad_upstream::{Line, Turn};

/// Limits of a zone's fetches (`max_fetches=`, `fetch_queue=`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchBounds {
    /// Maximum number of concurrent fetches, at least 1.
    pub most: usize,
    /// Maximum number of queued fetches.
    pub queue: usize,
}

/// Fetches into a zone. All workers share them, and they outlive reloads.
#[derive(Debug, Default)]
pub struct Fetches {
    most: AtomicUsize,
    queue: AtomicUsize,
    running: AtomicUsize,
    line: Line,
    /// Limits the log lines about a full queue to one a second.
    pub told: OnceASecond,
}

/// Fetch in progress, until dropped.
#[derive(Debug)]
pub struct Fetching(Arc<Fetches>);

/// Admission of a fetch.
#[derive(Debug)]
pub enum Entry {
    /// The fetch may begin.
    Now(Fetching),
    /// The fetch is queued.
    Wait(Arc<Fetches>, Turn),
}

impl Fetches {
    /// Sets the limits. Fetches in progress beyond them continue.
    pub fn bound(&self, bounds: FetchBounds) {
        self.most.store(bounds.most, Relaxed);
        self.queue.store(bounds.queue, Relaxed);
        self.line.wake_first();
    }

    /// Admits a fetch at once, or returns `None`. It does not overtake queued fetches.
    pub fn begin(self: &Arc<Self>) -> Option<Fetching> {
        if self.line.is_empty() { self.admit() } else { None }
    }

    /// Admits a fetch at once, or queues it; `None` if the queue is full.
    pub fn enter(self: &Arc<Self>) -> Option<Entry> {
        if let Some(fetching) = self.begin() {
            return Some(Entry::Now(fetching));
        }
        let turn = self.line.join(self.queue.load(Relaxed))?;
        Some(Entry::Wait(Arc::clone(self), turn))
    }

    fn admit(self: &Arc<Self>) -> Option<Fetching> {
        let most = self.most.load(Relaxed);
        let more = |running: usize| (running < most).then_some(running + 1);
        self.running.fetch_update(Relaxed, Relaxed, more).ok()?;
        Some(Fetching(Arc::clone(self)))
    }
}

impl Entry {
    /// Waits for the turn, for at most `patience_ms` milliseconds; `None` after a time-out.
    pub async fn pass(self, patience_ms: u64) -> Option<Fetching> {
        match self {
            Self::Now(fetching) => Some(fetching),
            Self::Wait(fetches, mut turn) => {
                let called = poll_fn(|cx| turn.poll(cx, || fetches.admit()));
                tokio::time::timeout(Duration::from_millis(patience_ms), called).await.ok()
            }
        }
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Relaxed);
        self.0.line.wake_first();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetches(most: usize, queue: usize) -> Arc<Fetches> {
        let fetches = Arc::<Fetches>::default();
        fetches.bound(FetchBounds { most, queue });
        fetches
    }

    #[test]
    fn what_is_under_way_and_what_waits_are_bounded() {
        let fetches = fetches(1, 1);
        let first = fetches.begin().expect("room");
        let Some(waiting @ Entry::Wait(..)) = fetches.enter() else { panic!("the first is under way") };
        assert!(fetches.enter().is_none(), "the queue is full");
        drop(first);
        assert!(fetches.begin().is_none(), "behind who waits");
        drop(waiting);
        assert!(fetches.begin().is_some());
    }

    #[test]
    fn raised_fetch_bound_admits_waiting_fetch() {
        let fetches = fetches(1, 1);
        let _first = fetches.begin().expect("room");
        let entry = fetches.enter().expect("a turn");
        fetches.bound(FetchBounds { most: 2, queue: 1 });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        assert!(runtime.block_on(entry.pass(60_000)).is_some());
    }

    #[test]
    fn reached_bound_is_reported_at_most_once_per_second() {
        let fetches = fetches(1, 1);
        let told: Vec<_> = [5000, 5999, 6000, 6001].map(|now| fetches.told.admits(now)).into();
        assert_eq!(told, [true, false, true, false]);
    }
}
