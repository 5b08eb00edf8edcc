//! Counts of requests in the queues of origins (`origin_queue`).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Outcome of a request to an origin with a queue (`origin_queue`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueEnd {
    /// The request was sent to the origin without waiting.
    Passed,
    /// The request was sent to the origin after waiting.
    Waited,
    /// The request was rejected after the maximum waiting time.
    Late,
    /// The request was rejected immediately, because the queue was full.
    Full,
    /// The request was removed from the full queue and rejected, to make room for a request of a higher priority class.
    Displaced,
    /// The request was removed from the queue, because the client disconnected.
    Left,
}

/// Names of the [`QueueEnd`] variants, in order.
pub const QUEUE_ENDS: [&str; 6] = ["passed", "waited", "late", "full", "displaced", "left"];

/// Counts of a queue, shared by all workers. In contrast to other counters, several threads write them, because
/// requests to origins are rare and expensive.
#[derive(Debug, Default)]
pub struct QueueCounts {
    waiting: AtomicU64,
    waited_us: AtomicU64,
    ends: [AtomicU64; QUEUE_ENDS.len()],
}

/// Counts of the requests in the queue of an origin at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueSums {
    /// Name of the queue.
    pub name: String,
    /// Number of requests that are waiting now.
    pub waiting: u64,
    /// Sum of all finished waiting times, including those of rejected requests, in microseconds.
    pub waited_us: u64,
    /// Number of requests by outcome, in the order of [`QUEUE_ENDS`].
    pub ends: [u64; QUEUE_ENDS.len()],
}

impl QueueCounts {
    /// Counts the outcome of a request that did not wait.
    pub fn end(&self, end: QueueEnd) {
        self.ends[end as usize].fetch_add(1, Relaxed);
    }

    /// Starts the wait of a request, until the returned value is dropped. The wait is counted as [`QueueEnd::Left`],
    /// unless [`QueueWait::end`] sets another outcome.
    pub fn wait(&self) -> QueueWait<'_> {
        self.waiting.fetch_add(1, Relaxed);
        QueueWait { counts: self, since_us: myriad_net::clock::now_us(), end: QueueEnd::Left }
    }

    /// Returns the current counts. `name` is the name of the queue.
    pub(super) fn sums(&self, name: &str) -> QueueSums {
        QueueSums {
            name: name.to_owned(),
            waiting: self.waiting.load(Relaxed),
            waited_us: self.waited_us.load(Relaxed),
            ends: self.ends.each_ref().map(|count| count.load(Relaxed)),
        }
    }
}

/// Wait of a request in a queue. Dropping this value finishes the wait and counts it as [`QueueEnd::Left`];
/// [`Self::end`] finishes it with another outcome.
#[derive(Debug)]
pub struct QueueWait<'a> {
    counts: &'a QueueCounts,
    since_us: u64,
    end: QueueEnd,
}

impl QueueWait<'_> {
    /// Finishes the wait and counts it with the outcome `end`.
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
    fn each_queue_outcome_is_counted_once_and_dropped_wait_counts_as_left() {
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
