//! Counters of a worker and snapshots of them: the serving code updates the counters, status pages and monitoring read
//! a [`Snapshot`].

use std::fmt;

use myriad_store::page::Counter;

use crate::traffic::{ServedCounts, TrafficTable};

/// Counters of one worker since it started. Each event is counted where it happens.
#[derive(Debug, Default)]
pub struct Counters {
    /// Number of client connections accepted since the worker started.
    pub accepted: Counter,
    /// Number of client connections closed since the worker started.
    pub closed: Counter,
    /// Number of connections on which a part of a request head has arrived, but not all of it. A gauge: it also
    /// decreases.
    pub reading: Counter,
    /// Number of requests whose processing has started, including those that have finished since.
    pub begun: Counter,
    /// Number of requests finished, including those without a response.
    pub requests: Counter,
    /// Number of requests that were served with a stored page and whose cache status is not `MISS`, `EXPIRED` or
    /// `BYPASS`, and of requests for bundles of the page optimizer. Requests for which an `error_page` of the location
    /// replaces the stored page are not counted.
    pub hits: Counter,
    /// Number of fetches that client requests started because no stored page existed or none could be served. Requests
    /// that waited for the fetch of another request or were passed to the origin, and background refreshes, are not
    /// counted.
    pub misses: Counter,
    /// Number of requests to origins: fetches for the cache, including background refreshes and verifications of leaks,
    /// and requests passed to an origin. Further attempts of a request, and requests of sampled verifications, are not
    /// counted.
    pub fetches: Counter,
    /// Number of bytes sent to clients, added when a request finishes.
    pub bytes: Counter,
    /// Memory used for client connections, request buffers and bodies.
    pub memory: MemoryCounts,
    /// Figures counted for every finished request and TLS handshake, by protocol, status, cache status and duration.
    pub served: ServedCounts,
    /// Numbers of requests and bytes, and durations, by key. A key is a server, a filter of `vhost_traffic_status`, an
    /// origin, a cache zone, or a key that a feature defines.
    pub traffic: TrafficTable,
}

/// Memory used by a worker for clients, in bytes, as of the last measurement (once per second).
#[derive(Debug, Default)]
pub struct MemoryCounts {
    /// Estimated memory used by the state of client connections, in bytes, without buffers and bodies.
    pub connections: Counter,
    /// Total capacity of the buffers that requests use, in bytes.
    pub buffers: Counter,
    /// Memory used by buffered bodies of requests and of origins' responses, and by response bytes buffered on HTTP/2
    /// connections, in bytes.
    pub bodies: Counter,
}

/// Values of one worker's counters at one moment, or the sums of the values of several workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Number of client connections accepted ([`Counters::accepted`]).
    pub accepted: u64,
    /// Number of client connections closed ([`Counters::closed`]).
    pub closed: u64,
    /// Number of connections on which a part of a request head has arrived, but not all of it ([`Counters::reading`]).
    pub reading: u64,
    /// Number of requests whose processing has started, including finished ones ([`Counters::begun`]).
    pub begun: u64,
    /// Number of requests finished ([`Counters::requests`]).
    pub requests: u64,
    /// Number of requests served with a stored page, not counting the cache statuses `MISS`, `EXPIRED` and `BYPASS`
    /// ([`Counters::hits`]).
    pub hits: u64,
    /// Number of fetches that client requests started because no usable page was stored ([`Counters::misses`]).
    pub misses: u64,
    /// Number of requests to origins, without retries ([`Counters::fetches`]).
    pub fetches: u64,
    /// Number of bytes sent to clients ([`Counters::bytes`]).
    pub bytes: u64,
}

impl Counters {
    /// Returns the current values of the counters. They are read one after another, so under load they can differ by a
    /// few requests.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            // Counters of finished events are read before those of started events, so that no difference is negative.
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
    /// Returns the number of open client connections (`$connections_active`): accepted, but not yet closed.
    pub fn active(&self) -> u64 {
        self.accepted.saturating_sub(self.closed)
    }

    /// Returns the number of requests being processed (`$connections_writing`).
    pub fn writing(&self) -> u64 {
        self.begun.saturating_sub(self.requests)
    }

    /// Returns the number of idle connections, which wait for a request (`$connections_waiting`): open connections
    /// minus those that are receiving a request head and minus the requests being processed; at least 0.
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
            "{requests} requests, {hits} from the cache, {misses} misses, {fetches} sent to an origin, {bytes} bytes sent"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_contains_counted_values() {
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
