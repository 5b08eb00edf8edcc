//! Counters and snapshots for people and monitoring: what serves counts here, what shows reads a [`Snapshot`].

use std::fmt;

use myriad_page::Counter;

use crate::traffic::{Board, ServedCounts};

/// What one worker has done since it started. Each is counted where it happens, never estimated.
#[derive(Debug, Default)]
pub struct Counters {
    /// Connections accepted.
    pub accepted: Counter,
    /// Connections that are over.
    pub closed: Counter,
    /// Connections of whose next request a part has arrived; goes down too.
    pub reading: Counter,
    /// Exchanges begun.
    pub begun: Counter,
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
    /// Memory that its connections and answers hold.
    pub held: HeldCounts,
    /// What is known of every request.
    pub served: ServedCounts,
    /// Requests by key: servers, filters, origins, whatever is counted apart.
    pub traffic: Board,
}

/// Memory of a worker, bytes, as it was measured last: each second.
#[derive(Debug, Default)]
pub struct HeldCounts {
    /// State of connections.
    pub connections: Counter,
    /// Buffers of requests.
    pub buffers: Counter,
    /// Bodies on their way, of requests and of answers that wait for their clients.
    pub bodies: Counter,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// See [`Counters::accepted`].
    pub accepted: u64,
    /// See [`Counters::closed`].
    pub closed: u64,
    /// See [`Counters::reading`].
    pub reading: u64,
    /// See [`Counters::begun`].
    pub begun: u64,
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
            // What ends is read before what begins, so that nothing seems to end that has not begun.
            closed: self.closed.get(),
            accepted: self.accepted.get(),
            reading: self.reading.get(),
            requests: self.requests.get(),
            begun: self.begun.get(),
            hits: self.hits.get(),
            misses: self.misses.get(),
            fetches: self.fetches.get(),
            bytes: self.bytes.get(),
        }
    }
}

impl Snapshot {
    /// Connections open (`$connections_active`).
    pub fn active(&self) -> u64 {
        self.accepted.saturating_sub(self.closed)
    }

    /// Exchanges under way (`$connections_writing`).
    pub fn writing(&self) -> u64 {
        self.begun.saturating_sub(self.requests)
    }

    /// Connections that wait for a request (`$connections_waiting`).
    pub fn waiting(&self) -> u64 {
        self.active().saturating_sub(self.reading + self.writing())
    }
}

impl std::iter::Sum for Snapshot {
    fn sum<I: Iterator<Item = Self>>(snapshots: I) -> Self {
        snapshots.fold(Self::default(), |sum, one| Self {
            accepted: sum.accepted + one.accepted,
            closed: sum.closed + one.closed,
            reading: sum.reading + one.reading,
            begun: sum.begun + one.begun,
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
        let Self { requests, hits, misses, fetches, bytes, .. } = self;
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

    #[test]
    fn connections_are_reading_writing_or_waiting() {
        let counters = Counters::default();
        counters.accepted.add(5);
        counters.closed.add(1);
        counters.reading.add(2);
        counters.reading.subtract(1);
        counters.begun.add(9);
        counters.requests.add(7);
        let now = counters.snapshot();
        assert_eq!((now.active(), now.reading, now.writing(), now.waiting()), (4, 1, 2, 1));
    }
}
