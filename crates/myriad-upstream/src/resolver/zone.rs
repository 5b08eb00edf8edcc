//! Counters of a resolver (`status_zone=` of `resolver`), named as in NGINX Plus's API.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use super::error::ResolveError;

/// Counters of all resolver zones by name. They persist over reloads, and resolvers of `http` and `stream` may share a
/// zone.
static ZONES: Mutex<BTreeMap<String, Arc<ResolverZone>>> = Mutex::new(BTreeMap::new());

/// Number of resolver zones at which unused zones are removed before another zone is created.
const MAX_ZONES: usize = 1024;

/// Look-up counters of the resolvers with the same `status_zone=`.
#[derive(Debug, Default)]
pub struct ResolverZone {
    name: String,
    names: AtomicU64,
    services: AtomicU64,
    /// Look-ups by the code of the response (RFC 1035): no error, format error, server failure, name error, not
    /// implemented, refused.
    codes: [AtomicU64; 6],
    timed_out: AtomicU64,
    unknown: AtomicU64,
}

/// Snapshot of the look-up counters of a resolver zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResolverCounts {
    /// Number of look-ups of addresses; the A and AAAA queries for a name are one look-up.
    pub names: u64,
    /// Number of look-ups of services (SRV records).
    pub services: u64,
    /// Number of look-ups by the code of the response (RFC 1035), 0 to 5; 3 also if the name has no records.
    pub codes: [u64; 6],
    /// Number of look-ups without a response in time, or cancelled.
    pub timed_out: u64,
    /// Number of look-ups that failed for reasons other than a timeout or a response code from 0 to 5.
    pub unknown: u64,
}

impl PartialEq for ResolverZone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ResolverZone {}

impl ResolverZone {
    /// Returns the resolver zone with this name, created with zero counters if it does not exist.
    pub fn named(name: &str) -> Arc<Self> {
        let mut zones = ZONES.lock().unwrap_or_else(PoisonError::into_inner);
        if zones.len() >= MAX_ZONES {
            zones.retain(|_, zone| Arc::strong_count(zone) > 1);
        }
        let zone = || Arc::new(Self { name: name.to_owned(), ..Self::default() });
        Arc::clone(zones.entry(name.to_owned()).or_insert_with(zone))
    }

    /// Returns the name of the resolver zone.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the current values of the zone's counters.
    pub fn counts(&self) -> ResolverCounts {
        ResolverCounts {
            names: self.names.load(Relaxed),
            services: self.services.load(Relaxed),
            codes: std::array::from_fn(|code| self.codes[code].load(Relaxed)),
            timed_out: self.timed_out.load(Relaxed),
            unknown: self.unknown.load(Relaxed),
        }
    }

    /// Sets all counters of the zone to 0.
    pub fn reset(&self) {
        let all = [&self.names, &self.services, &self.timed_out, &self.unknown];
        all.into_iter().chain(&self.codes).for_each(|count| count.store(0, Relaxed));
    }

    /// Counts the start of a look-up of addresses, or with `is_service` of a service (SRV records).
    pub(crate) fn begin_query(&self, is_service: bool) -> QueryInProgress<'_> {
        let count = if is_service { &self.services } else { &self.names };
        count.fetch_add(1, Relaxed);
        QueryInProgress(Some(self))
    }

    fn count<T>(&self, answer: &Result<T, ResolveError>) {
        let count = match answer {
            Ok(_) => &self.codes[0],
            Err(ResolveError::Code(code)) => self.codes.get(usize::from(*code)).unwrap_or(&self.unknown),
            Err(ResolveError::TimedOut) => &self.timed_out,
            Err(ResolveError::NoName | ResolveError::Busy) => &self.unknown,
        };
        count.fetch_add(1, Relaxed);
    }
}

/// Look-up in progress. Dropping it without a result counts a timeout.
pub(crate) struct QueryInProgress<'a>(Option<&'a ResolverZone>);

impl QueryInProgress<'_> {
    /// Counts the result of the look-up.
    pub(crate) fn finish<T>(mut self, answer: &Result<T, ResolveError>) {
        if let Some(zone) = self.0.take() {
            zone.count(answer);
        }
    }
}

impl Drop for QueryInProgress<'_> {
    fn drop(&mut self) {
        if let Some(zone) = self.0 {
            zone.timed_out.fetch_add(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_look_up_is_counted_by_what_it_came_to() {
        let zone = ResolverZone::named("each_look_up");
        zone.begin_query(false).finish(&Ok(()));
        zone.begin_query(true).finish(&Err::<(), _>(ResolveError::Code(3)));
        zone.begin_query(false).finish(&Err::<(), _>(ResolveError::Code(9)));
        drop(zone.begin_query(false));
        let counts = ResolverZone::named("each_look_up").counts();
        assert_eq!((counts.names, counts.services, counts.timed_out, counts.unknown), (3, 1, 1, 1));
        assert_eq!(counts.codes, [1, 0, 0, 1, 0, 0]);
        zone.reset();
        assert_eq!(zone.counts(), ResolverCounts::default());
    }
}
