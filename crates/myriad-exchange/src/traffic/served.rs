//! What one worker has served, by what is known of every request: counted always.

use std::collections::BTreeMap;

use myriad_http::Version;
use myriad_page::Counter;
use myriad_policy::CacheStatus;

use super::codes::CodeCounts;
use super::histogram::{Stopwatch, Times};
use super::named::NamedCounts;
use super::tls::{TlsCounts, TlsEnd};

/// The versions of HTTP as `$server_protocol` has them, in the order of [`TrafficSnapshot::versions`](super::TrafficSnapshot::versions).
pub const VERSION_NAMES: [&str; 4] = ["HTTP/1.0", "HTTP/1.1", "HTTP/2.0", "HTTP/3.0"];
/// The values of `$upstream_cache_status`, and that there is none: nothing to do with a cache.
pub const CACHE_NAMES: [&str; CACHES] =
    ["miss", "bypass", "expired", "stale", "updating", "revalidated", "hit", "none"];
pub(super) const CACHES: usize = CacheStatus::ALL.len() + 1;

/// A request that is over.
#[derive(Clone, Copy, Debug)]
pub struct Served<'a> {
    /// The version that it came by.
    pub version: Version,
    /// Whether it came by TLS.
    pub secure: bool,
    /// What the cache did.
    pub cache: Option<CacheStatus>,
    /// The status that was sent; 0 where none was.
    pub status: u16,
    /// Bytes of the request.
    pub received: u64,
    /// Bytes of the answer's body that were sent.
    pub body: u64,
    /// Bytes that the body would have had without its coding, where it has one.
    pub uncoded: u64,
    /// Microseconds to the first byte, and to the last.
    pub times_us: (u64, u64),
    /// How long the origin had taken to make the page that the cache gave, microseconds.
    pub spared_us: u64,
    /// The robot's class; empty for none.
    pub class: &'a [u8],
}

/// What one worker has served. Only its thread adds.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct ServedCounts {
    statuses: CodeCounts,
    discarded: Counter,
    received: Counter,
    /// Bytes that codings have spared.
    uncoded: Counter,
    spared_us: Counter,
    /// By version, without TLS and with it.
    versions: [[Counter; 2]; VERSION_NAMES.len()],
    caches: [ByCache; CACHES],
    people: Counter,
    classes: NamedCounts,
    tls: TlsCounts,
}

/// Answers of one cache status.
#[derive(Debug, Default)]
struct ByCache {
    bytes: Counter,
    first_byte: Stopwatch,
    total: Stopwatch,
}

impl ServedCounts {
    /// Adds a request that is over.
    pub fn add(&self, served: &Served<'_>) {
        self.received.add(served.received);
        self.versions[served.version as usize][usize::from(served.secure)].add(1);
        match served.class {
            b"" => self.people.add(1),
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

    /// Adds a handshake that is over.
    pub fn shake_hands(&self, end: TlsEnd) {
        self.tls.add(end);
    }

    pub(super) fn tls(&self) -> &TlsCounts {
        &self.tls
    }

    /// Adds what was counted to sums.
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
        *sums.bots.entry(String::new()).or_default() += self.people.get();
        self.classes.read(&mut sums.bots);
        sums.coding_bytes += self.uncoded.get();
        sums.origin_us += self.spared_us.get();
    }
}

/// What all workers have served, on its way into a snapshot.
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

/// Answers of one cache status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheSums {
    /// Bytes of their bodies that were sent.
    pub bytes: u64,
    /// Times from the request's head to the first byte of the answer.
    pub first_byte: Times,
    /// Times from the request's head to the last byte of the answer.
    pub total: Times,
}

impl CacheSums {
    /// How many there are.
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
        let versions = [Version::Http10, Version::Http11, Version::Http2, Version::Http3];
        for (number, version) in versions.into_iter().enumerate() {
            assert_eq!(version as usize, number);
        }
    }
}
