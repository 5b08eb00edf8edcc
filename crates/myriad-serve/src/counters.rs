//! Counters and snapshots for people and monitoring: what serves counts here, what shows reads a [`Snapshot`].

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What one worker has done since it started. Each is counted where it happens, never estimated.
#[derive(Debug, Default)]
pub struct Counters {
    /// Exchanges finished.
    pub requests: Counter,
    /// Stored pages served, fresh or stale.
    pub hits: Counter,
    /// Pages fetched because none was stored, or none that could be served.
    pub misses: Counter,
    /// Requests sent to an origin.
    pub fetches: Counter,
    /// Bytes sent to clients.
    pub bytes: Counter,
}

/// One count.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to the count.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Relaxed);
    }

    /// The count.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// See [`Counters::requests`].
    pub requests: u64,
    /// See [`Counters::hits`].
    pub hits: u64,
    /// See [`Counters::misses`].
    pub misses: u64,
    /// See [`Counters::fetches`].
    pub fetches: u64,
    /// See [`Counters::bytes`].
    pub bytes: u64,
}

impl Counters {
    /// Reads all counters. They are read one after the other: under load they may be some requests apart.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            requests: self.requests.get(),
            hits: self.hits.get(),
            misses: self.misses.get(),
            fetches: self.fetches.get(),
            bytes: self.bytes.get(),
        }
    }
}

impl std::iter::Sum for Snapshot {
    fn sum<I: Iterator<Item = Self>>(snapshots: I) -> Self {
        snapshots.fold(Self::default(), |sum, one| Self {
            requests: sum.requests + one.requests,
            hits: sum.hits + one.hits,
            misses: sum.misses + one.misses,
            fetches: sum.fetches + one.fetches,
            bytes: sum.bytes + one.bytes,
        })
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, hits, misses, fetches, bytes } = self;
        write!(
            f,
            "{requests} requests, {hits} from the cache, {misses} misses, {fetches} asked of an origin, {bytes} bytes sent"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_tells_what_was_counted() {
        let counters = Counters::default();
        counters.requests.add(3);
        counters.hits.add(2);
        counters.bytes.add(7000);
        let snapshot = counters.snapshot();
        assert_eq!((snapshot.requests, snapshot.hits, snapshot.misses), (3, 2, 0));
        let both: Snapshot = [snapshot, snapshot].into_iter().sum();
        assert_eq!((both.requests, both.bytes), (6, 14_000));
        assert!(snapshot.to_string().starts_with("3 requests, 2 from the cache"));
    }
}
