//! Counts of requests served by one worker, by properties that every request has. Always enabled.

use std::collections::BTreeMap;

use myriad_http::HttpVersion;
use myriad_policy::CacheStatus;
use myriad_store::page::Counter;

use super::codes::CodeCounts;
use super::histogram::{TimeHistogram, WorkerHistogram};
use super::named_counts::NamedCounts;
use super::tls::{TlsCounts, TlsEnd};

/// HTTP versions as in `$server_protocol`, in the order of
/// [`TrafficSnapshot::versions`](super::TrafficSnapshot::versions).
pub const VERSION_NAMES: [&str; 4] = ["HTTP/1.0", "HTTP/1.1", "HTTP/2.0", "HTTP/3.0"];
/// Values of `$upstream_cache_status` in lower case, and `none` for requests without a cache.
pub const CACHE_NAMES: [&str; CACHES] =
    ["miss", "bypass", "expired", "stale", "updating", "revalidated", "hit", "none"];
pub(super) const CACHES: usize = CacheStatus::ALL.len() + 1;

/// Properties of a finished request, by which it is counted.
#[derive(Clone, Copy, Debug)]
pub struct Served<'a> {
    /// HTTP version of the request.
    pub version: HttpVersion,
    /// True if the connection uses TLS.
    pub secure: bool,
    /// Cache status; `None` without a cache.
    pub cache: Option<CacheStatus>,
    /// Status of the response; 0 if none was sent.
    pub status: u16,
    /// Size of the request, in bytes.
    pub received: u64,
    /// Number of body bytes sent.
    pub body: u64,
    /// Size of the sent body before compression by this server, in bytes; 0 if it was not compressed, or not sent
    /// completely.
    pub uncoded: u64,
    /// Times from the request head to the first and to the last byte of the response, in microseconds.
    pub times_us: (u64, u64),
    /// Time that the origin needed to generate the page, in microseconds, if the cache saved it; otherwise 0.
    pub spared_us: u64,
    /// Class of the client, such as a robot; empty for other clients.
    pub class: &'a [u8],
}

/// Counts of the requests and TLS handshakes of one worker. Only its thread writes them.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct ServedCounts {
    statuses: CodeCounts,
    discarded: Counter,
    received: Counter,
    /// Number of bytes saved by compression.
    uncoded: Counter,
    spared_us: Counter,
    /// Requests by version; in each pair, without TLS and with TLS.
    versions: [[Counter; 2]; VERSION_NAMES.len()],
    caches: [ByCache; CACHES],
    non_bots: Counter,
    classes: NamedCounts,
    tls: TlsCounts,
}

/// Body bytes and times of one worker's responses with one cache status, or of its responses without a cache status.
#[derive(Debug, Default)]
struct ByCache {
    bytes: Counter,
    first_byte: WorkerHistogram,
    total: WorkerHistogram,
}

impl ServedCounts {
    /// Counts a finished request; without a response (status 0), only its size, version and class, and that it was
    /// discarded. Must be called only on the worker's thread.
    pub fn add(&self, served: &Served<'_>) {
        self.received.add(served.received);
        self.versions[served.version as usize][usize::from(served.secure)].add(1);
        match served.class {
            b"" => self.non_bots.add(1),
            class => self.classes.add(class),
        }
        if served.status == 0 {
            return self.discarded.add(1);
        }
        self.statuses.add(served.status);
        let by_cache = &self.caches[served.cache.map_or(CACHES - 1, |status| status as usize)];
        by_cache.bytes.add(served.body);
        by_cache.first_byte.add(served.times_us.0);
        by_cache.total.add(served.times_us.1);
        self.uncoded.add(served.uncoded.saturating_sub(served.body));
        self.spared_us.add(served.spared_us);
    }

    /// Counts a finished TLS handshake, or a client certificate that failed verification. Must be called only on the
    /// worker's thread.
    pub fn count_handshake(&self, end: TlsEnd) {
        self.tls.add(end);
    }

    pub(super) fn tls(&self) -> &TlsCounts {
        &self.tls
    }

    /// Adds the counts of this worker to `sums`, the sums over all workers.
    pub(super) fn read(&self, sums: &mut ServedSums) {
        self.statuses.read(&mut sums.statuses);
        sums.discarded += self.discarded.get();
        sums.received += self.received.get();
        for (sum, count) in sums.versions.iter_mut().flatten().zip(self.versions.iter().flatten()) {
            *sum += count.get();
        }
        for (sum, of) in sums.by_cache.iter_mut().zip(&self.caches) {
            sum.bytes += of.bytes.get();
            sum.first_byte.read(&of.first_byte);
            sum.total.read(&of.total);
        }
        *sums.bots.entry(String::new()).or_default() += self.non_bots.get();
        self.classes.read(&mut sums.bots);
        sums.coding_bytes += self.uncoded.get();
        sums.origin_us += self.spared_us.get();
    }
}

/// Sums of the counts of served requests over all workers, for a snapshot.
#[derive(Debug, Default)]
pub(super) struct ServedSums {
    pub statuses: BTreeMap<u16, u64>,
    pub discarded: u64,
    pub received: u64,
    pub versions: [[u64; 2]; VERSION_NAMES.len()],
    pub by_cache: [CacheSums; CACHES],
    pub bots: BTreeMap<String, u64>,
    pub coding_bytes: u64,
    pub origin_us: u64,
}

/// Body bytes and times of all workers' responses with one cache status, or of all responses without a cache status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheSums {
    /// Number of body bytes sent.
    pub bytes: u64,
    /// Times from the request head to the first byte of the response.
    pub first_byte: TimeHistogram,
    /// Times from the request head to the last byte of the response.
    pub total: TimeHistogram,
}

impl CacheSums {
    /// Returns the number of the responses to which these sums refer.
    pub fn requests(&self) -> u64 {
        self.total.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_the_order_of_what_they_name() {
        for status in CacheStatus::ALL {
            assert_eq!(CACHE_NAMES[status as usize], status.as_str().to_ascii_lowercase());
        }
        let versions = [HttpVersion::Http10, HttpVersion::Http11, HttpVersion::Http2, HttpVersion::Http3];
        for (number, version) in versions.into_iter().enumerate() {
            assert_eq!(version as usize, number);
        }
    }
}
