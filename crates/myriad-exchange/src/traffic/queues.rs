//! Requests before an origin's queue (`origin_queue`).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What came of a request before a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueEnd {
    /// It had its turn at once.
    Passed,
    /// It waited, and had its turn.
    Waited,
    /// It waited for too long.
    Late,
    /// As many waited as may.
    Full,
    /// It waited, and a better class needed its place.
    Displaced,
    /// It waited, and its client went away.
    Left,
}

/// The names of [`QueueEnd`], in its order.
pub const QUEUE_ENDS: [&str; 6] = ["passed", "waited", "late", "full", "displaced", "left"];

/// Counts of a queue, of all workers: asking an origin costs so much that they may share a line of memory.
#[derive(Debug, Default)]
pub struct QueueCounts {
    waiting: AtomicU64,
    waited_us: AtomicU64,
    ends: [AtomicU64; QUEUE_ENDS.len()],
}

/// Counts of a queue at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueSums {
    /// Its name.
    pub name: String,
    /// Requests that wait now.
    pub waiting: u64,
    /// How long requests have waited, those that were sent away among them, microseconds.
    pub waited_us: u64,
    /// Requests by their end ([`QUEUE_ENDS`]).
    pub ends: [u64; QUEUE_ENDS.len()],
}

impl QueueCounts {
    /// Counts a request that did not wait.
    pub fn end(&self, end: QueueEnd) {
        self.ends[end as usize].fetch_add(1, Relaxed);
    }

    /// A request begins to wait. It counts as left unless [`QueueWait::end`] says otherwise.
    pub fn wait(&self) -> QueueWait<'_> {
        self.waiting.fetch_add(1, Relaxed);
        QueueWait { counts: self, since_us: myriad_net::clock::now_us(), end: QueueEnd::Left }
    }

    /// The counts of the queue that has that name.
    pub(super) fn sums(&self, name: &str) -> QueueSums {
        QueueSums {
            name: name.to_owned(),
            waiting: self.waiting.load(Relaxed),
            waited_us: self.waited_us.load(Relaxed),
            ends: self.ends.each_ref().map(|count| count.load(Relaxed)),
        }
    }
}

/// A request that waits, until dropped.
#[derive(Debug)]
pub struct QueueWait<'a> {
    counts: &'a QueueCounts,
    since_us: u64,
    end: QueueEnd,
}

impl QueueWait<'_> {
    /// The wait is over.
    pub fn end(mut self, end: QueueEnd) {
        self.end = end;
    }
}

impl Drop for QueueWait<'_> {
    fn drop(&mut self) {
        self.counts.waiting.fetch_sub(1, Relaxed);
        let waited_us = myriad_net::clock::now_us().saturating_sub(self.since_us);
        self.counts.waited_us.fetch_add(waited_us, Relaxed);
        self.counts.end(self.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_is_counted_once_and_who_goes_has_left() {
        let counts = QueueCounts::default();
        counts.end(QueueEnd::Passed);
        counts.end(QueueEnd::Full);
        let (first, second) = (counts.wait(), counts.wait());
        assert_eq!(counts.sums("q").waiting, 2);
        first.end(QueueEnd::Late);
        drop(second);
        let sums = counts.sums("q");
        assert_eq!((sums.waiting, sums.ends), (0, [1, 0, 1, 1, 0, 1]));
    }
}
