//! Traffic counts of one key (`vhost_traffic_status`) by one worker.

use std::sync::Arc;

use myriad_policy::CacheStatus;
use myriad_store::page::Counter;

use super::key::{TrafficKey, TrafficKind};
use super::times::LastTimes;

/// Maximum number of histogram bounds per key.
pub const MAX_BUCKETS: usize = 32;
pub(super) const CACHE_STATUSES: usize = CacheStatus::ALL.len();

/// Properties of a finished request, or of a finished attempt to contact an origin, to be counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Status of the response; 0 if there was none.
    pub status: u16,
    /// Cache status of the request; `None` if it used no cache.
    pub cache: Option<CacheStatus>,
    /// Size of the request, in bytes.
    pub in_bytes: u64,
    /// Size of the response, in bytes.
    pub out_bytes: u64,
    /// Time at which the request finished, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Duration of the request, in milliseconds; `None` for an attempt to contact an origin that was followed by
    /// another attempt.
    pub request_ms: Option<u64>,
    /// Response time of the origin, in milliseconds; `None` if the key is not an origin, or if the time is unknown.
    pub response_ms: Option<u64>,
}

/// Counts of one key by one worker. Only that worker's thread writes them.
#[derive(Debug)]
pub struct TrafficCounts {
    pub(super) key: TrafficKey,
    pub(super) requests: Counter,
    pub(super) in_bytes: Counter,
    pub(super) out_bytes: Counter,
    /// Number of responses by the first digit of their status, from 1 to 5.
    pub(super) classes: [Counter; 5],
    pub(super) cache: [Counter; CACHE_STATUSES],
    /// Time at which the last request finished, in milliseconds since the epoch.
    pub(super) last_ms: Counter,
    pub(super) request: Durations,
    /// Response times; `None` unless the key is an origin.
    pub(super) response: Option<Box<Durations>>,
}

/// Number, sum, latest values and histogram of durations.
#[derive(Debug)]
pub(super) struct Durations {
    pub(super) count: Counter,
    pub(super) sum_ms: Counter,
    pub(super) times: LastTimes,
    /// Upper bounds of the histogram in milliseconds, ascending.
    pub(super) bounds: Arc<[u64]>,
    /// Number of durations up to each bound, inclusive.
    pub(super) within: Box<[Counter]>,
}

impl Durations {
    fn new(bounds: &Arc<[u64]>) -> Self {
        Self {
            count: Counter::default(),
            sum_ms: Counter::default(),
            times: LastTimes::default(),
            bounds: Arc::clone(bounds),
            within: bounds.iter().map(|_| Counter::default()).collect(),
        }
    }

    fn add(&self, at_ms: u64, duration_ms: u64) {
        self.count.add(1);
        self.sum_ms.add(duration_ms);
        self.times.add(at_ms, duration_ms);
        for (bound, within) in self.bounds.iter().zip(&self.within) {
            if duration_ms <= *bound {
                within.add(1);
            }
        }
    }
}

impl TrafficCounts {
    /// Creates counts of zero. `bounds` are the upper bounds of the histograms, in milliseconds. Response times are
    /// counted only if the key is a peer or an origin.
    pub(super) fn new(key: TrafficKey, bounds: &Arc<[u64]>) -> Self {
        let is_origin = matches!(key.kind(), TrafficKind::Peer | TrafficKind::Origin);
        Self {
            key,
            requests: Counter::default(),
            in_bytes: Counter::default(),
            out_bytes: Counter::default(),
            classes: Default::default(),
            cache: Default::default(),
            last_ms: Counter::default(),
            request: Durations::new(bounds),
            response: is_origin.then(|| Box::new(Durations::new(bounds))),
        }
    }

    /// Returns the maximum memory that the counts of a key use, in bytes, without the overhead of tables and
    /// allocations.
    pub(super) fn weight(key: &[u8], bounds: &[u64]) -> u32 {
        // Calculated for a key of an origin, which has two `Durations`.
        let counters = size_of::<Self>() + size_of::<Durations>() + 2 * size_of_val(bounds);
        u32::try_from(counters + 2 * key.len()).unwrap_or(u32::MAX)
    }

    /// Counts a finished request or attempt. Must be called only on the worker's thread.
    pub fn add(&self, sample: &Sample) {
        self.requests.add(1);
        self.in_bytes.add(sample.in_bytes);
        self.out_bytes.add(sample.out_bytes);
        if let Some(class) = self.classes.get(usize::from(sample.status / 100).wrapping_sub(1)) {
            class.add(1);
        }
        if let Some(status) = sample.cache {
            self.cache[status as usize].add(1);
        }
        self.note(sample.at_ms);
        if let Some(request_ms) = sample.request_ms {
            self.request.add(sample.at_ms, request_ms);
        }
        if let (Some(response), Some(response_ms)) = (&self.response, sample.response_ms) {
            response.add(sample.at_ms, response_ms);
        }
    }

    fn note(&self, at_ms: u64) {
        self.last_ms.add(at_ms.saturating_sub(self.last_ms.get()));
    }
}
