//! Traffic counts by key, summed over all workers.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::counts::{CACHE_STATUSES, Durations, TrafficCounts};
use super::key::TrafficKey;
use super::times::LAST_TIMES;
use crate::counters::Counters;

/// Traffic counts of one key, summed over workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrafficSums {
    /// Number of finished requests; for a peer or an origin, of attempts.
    pub requests: u64,
    /// Number of bytes received.
    pub in_bytes: u64,
    /// Number of bytes sent.
    pub out_bytes: u64,
    /// Number of responses by the first digit of their status, 1 to 5.
    pub classes: [u64; 5],
    /// Number of requests by cache status, in the order of [`myriad_policy::CacheStatus::ALL`].
    pub cache: [u64; CACHE_STATUSES],
    /// Time at which the last request finished, in milliseconds since the epoch.
    pub last_ms: u64,
    /// Durations of requests.
    pub request: DurationSums,
    /// Response times of origins; empty unless the key is an origin.
    pub response: DurationSums,
}

/// Durations, summed over workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DurationSums {
    /// Number of durations. Less than the number of requests if some had none: an attempt that another attempt followed
    /// has no request time, and one without a response has no response time.
    pub count: u64,
    /// Sum of all durations, in milliseconds.
    pub sum_ms: u64,
    /// Latest durations, at most [`LAST_TIMES`]: end time (milliseconds since the epoch) and duration (milliseconds),
    /// sorted by end time.
    pub times: Vec<(u64, u64)>,
    /// Upper bounds of the histogram in milliseconds, each with the number of durations up to it.
    pub buckets: Vec<(u64, u64)>,
}

impl DurationSums {
    fn read(&mut self, durations: &Durations) {
        let counts = durations.within.iter().map(myriad_store::page::Counter::get);
        let mut times = Vec::new();
        durations.times.append(&mut times);
        self.add(&Self {
            count: durations.count.get(),
            sum_ms: durations.sum_ms.get(),
            times,
            buckets: durations.bounds.iter().copied().zip(counts).collect(),
        });
    }

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_ms += other.sum_ms;
        self.times.extend_from_slice(&other.times);
        self.times.sort_unstable();
        self.times.drain(..self.times.len().saturating_sub(LAST_TIMES));
        if self.buckets.is_empty() {
            self.buckets.clone_from(&other.buckets);
        } else {
            // If a reload has changed the bounds, the counts of other bounds are not added.
            for (bound, count) in &mut self.buckets {
                let same = other.buckets.iter().find(|(known, _)| known == bound);
                *count += same.map_or(0, |(_, count)| *count);
            }
        }
    }
}

impl TrafficSums {
    /// Adds the counts of another key. Counts of histogram bounds that this key does not have are not added, unless
    /// this key has no histogram yet.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.in_bytes += other.in_bytes;
        self.out_bytes += other.out_bytes;
        for (sum, count) in self.classes.iter_mut().zip(other.classes) {
            *sum += count;
        }
        for (sum, count) in self.cache.iter_mut().zip(other.cache) {
            *sum += count;
        }
        self.last_ms = self.last_ms.max(other.last_ms);
        self.request.add(&other.request);
        self.response.add(&other.response);
    }

    fn read(&mut self, counts: &TrafficCounts) {
        self.requests += counts.requests.get();
        self.in_bytes += counts.in_bytes.get();
        self.out_bytes += counts.out_bytes.get();
        for (sum, count) in self.classes.iter_mut().zip(&counts.classes) {
            *sum += count.get();
        }
        for (sum, count) in self.cache.iter_mut().zip(&counts.cache) {
            *sum += count.get();
        }
        self.last_ms = self.last_ms.max(counts.last_ms.get());
        self.request.read(&counts.request);
        if let Some(response) = &counts.response {
            self.response.read(response);
        }
    }
}

/// Returns the counts of all workers by key, sorted by key.
pub fn all(workers: &[Arc<Counters>]) -> BTreeMap<TrafficKey, TrafficSums> {
    let mut sums: BTreeMap<TrafficKey, TrafficSums> = BTreeMap::new();
    for counts in workers.iter().flat_map(|counters| counters.traffic.all()) {
        match sums.get_mut(&counts.key) {
            Some(sum) => sum.read(&counts),
            None => sums.entry(counts.key.clone()).or_default().read(&counts),
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use myriad_policy::CacheStatus;

    use super::super::{KeyClass, Sample, TrafficKind, TrafficSlots};
    use super::*;

    fn key(name: &str) -> Vec<u8> {
        let mut key = Vec::new();
        TrafficKey::write(&mut key, TrafficKind::Server, b"", name.as_bytes());
        key
    }

    fn workers(number: usize) -> Vec<Arc<Counters>> {
        (0..number).map(|_| Arc::default()).collect()
    }

    fn count(worker: &Counters, name: &str, shelf: KeyClass, sample: &Sample) {
        let bounds: Arc<[u64]> = [5, 50].into();
        if let Some(counts) = worker.traffic.find(&key(name), shelf, &bounds) {
            counts.add(sample);
        }
    }

    #[test]
    fn counts_of_all_workers_are_summed_by_key() {
        let workers = workers(2);
        let sample = Sample {
            status: 200,
            cache: Some(CacheStatus::Hit),
            in_bytes: 10,
            out_bytes: 100,
            at_ms: 1000,
            request_ms: Some(7),
            response_ms: None,
        };
        count(&workers[0], "a", KeyClass::Fixed, &sample);
        count(
            &workers[1],
            "a",
            KeyClass::Fixed,
            &Sample { status: 404, request_ms: Some(3), at_ms: 900, ..sample },
        );
        count(&workers[1], "b", KeyClass::Fixed, &Sample { status: 0, response_ms: Some(4), ..sample });
        let sums = all(&workers);
        let [a, b] = &*sums.values().collect::<Vec<_>>() else { panic!("two keys") };
        assert_eq!((a.requests, a.in_bytes, a.out_bytes, a.last_ms), (2, 20, 200, 1000));
        assert_eq!(a.classes, [0, 1, 0, 1, 0]);
        assert_eq!(a.cache[CacheStatus::Hit as usize], 2);
        assert_eq!((a.request.sum_ms, &*a.request.times), (10, &[(900, 3), (1000, 7)][..]));
        assert_eq!(a.request.buckets, [(5, 1), (50, 2)]);
        assert_eq!((b.classes, b.response.sum_ms), ([0; 5], 0));
        assert_eq!((a.request.count, b.request.count, b.response.count), (2, 1, 0), "b is no origin");
    }

    #[test]
    fn shelves_are_bounded_and_evict_only_their_own_entries() {
        let workers = workers(1);
        count(&workers[0], "fixed", KeyClass::Fixed, &Sample::default());
        for number in 0..1000 {
            count(&workers[0], &format!("n{number}"), KeyClass::Number(7), &Sample::default());
            count(&workers[0], &format!("b{number}"), KeyClass::Bytes(20_000), &Sample::default());
        }
        count(&workers[0], "none", KeyClass::Bytes(0), &Sample::default());
        let sums = all(&workers);
        let of = |start: &[u8]| sums.keys().filter(|key| key.name().starts_with(start)).count();
        assert_eq!((of(b"fixed"), of(b"n")), (1, 7));
        assert!(of(b"b") == 0, "a limit of 0 bytes removes the existing keys");
        count(&workers[0], "b", KeyClass::Bytes(20_000), &Sample::default());
        assert!(workers[0].traffic.used().0 < 60_000);
    }

    #[test]
    fn fixed_keys_in_slots_are_not_evicted() {
        let workers = workers(1);
        let (board, slots, bounds) = (&workers[0].traffic, TrafficSlots::default(), Arc::from([]));
        let add = |number: usize| {
            let find = || board.find(&key(&format!("used {number}")), KeyClass::Fixed, &bounds);
            slots.with(board, number, find, |counts| counts.add(&Sample::default()));
        };
        (0..20_000).for_each(add);
        for number in 0..20_000 {
            count(&workers[0], &format!("former {number}"), KeyClass::Fixed, &Sample::default());
        }
        (0..20_000).for_each(add);
        let sums = all(&workers);
        let used: Vec<u64> = sums
            .iter()
            .filter(|(key, _)| key.name().starts_with(b"used"))
            .map(|(_, sums)| sums.requests)
            .collect();
        assert_eq!((used.len(), used.iter().find(|requests| **requests != 2)), (20_000, None));
        assert!(sums.len() < 25_000, "keys without a slot are evicted: {}", sums.len());
    }

    #[test]
    fn what_is_forgotten_begins_at_nothing_also_in_slots() {
        let workers = workers(1);
        let (board, slots, bounds) = (&workers[0].traffic, TrafficSlots::default(), Arc::from([]));
        let add = || {
            let find = || board.find(&key("a"), KeyClass::Fixed, &bounds);
            slots.with(board, 3, find, |counts| counts.add(&Sample::default()));
        };
        add();
        add();
        let keys: Vec<TrafficKey> = all(&workers).into_keys().collect();
        assert_eq!(all(&workers)[&keys[0]].requests, 2);
        board.remove(&keys, true);
        assert_eq!(all(&workers)[&keys[0]].requests, 0);
        board.remove(&keys, false);
        assert!(all(&workers).is_empty());
        add();
        assert_eq!(all(&workers)[&keys[0]].requests, 1);
    }
}
