//! Leaky buckets by key.

use myriad_base::bounded::Lru;
use parking_lot::Mutex;

use super::bucket::{Bucket, wait_ms};
use crate::limit_zone::{LimitTable, weight};

/// Memory per entry of a zone's table in addition to the key, in bytes. Chosen so that an entry with an IPv4 address
/// takes 128 bytes, as in the manual of nginx.
const OVERHEAD: usize = 80;

/// Leaky buckets by key: the table of a `limit_req` zone, shared by all workers.
pub(crate) struct RequestTable {
    buckets: Mutex<Lru<Box<[u8]>, Bucket>>,
}

/// Rate, burst and delay of one `limit_req`, in thousandths of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    /// Permitted requests per second, in thousandths of a request.
    pub rate: u64,
    /// Maximum excess over the rate, in thousandths of a request; beyond it requests are rejected.
    pub burst: u64,
    /// Excess over the rate up to which requests are not delayed, in thousandths of a request; `u64::MAX` for
    /// `nodelay`.
    pub delay: u64,
}

/// Result of the check of one `limit_req`, with the excess over the rate in thousandths of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitOutcome {
    /// The request is within the burst.
    Within(u64),
    /// The request is beyond the burst.
    Beyond(u64),
    /// The entry for the key of the request would be larger than the table.
    NoRoom,
}

impl LimitTable for RequestTable {
    fn new(bytes: u64) -> Self {
        Self { buckets: Mutex::new(Lru::new(bytes)) }
    }

    fn resize(&self, bytes: u64) {
        self.buckets.lock().set_max_weight(bytes);
    }
}

impl RequestTable {
    /// Checks a limit without counting the request: a key without a bucket has no excess. With several limits, the
    /// request is counted only after all of them have admitted it. `now` is in milliseconds.
    pub(super) fn check(&self, key: &[u8], limit: Limit, now: u64) -> LimitOutcome {
        let mut buckets = self.buckets.lock();
        let excess = buckets.get_mut(key).map_or(0, |bucket| bucket.excess_after(limit.rate, now));
        if excess > limit.burst { LimitOutcome::Beyond(excess) } else { LimitOutcome::Within(excess) }
    }

    /// Checks a limit, and counts the request if it is within the burst. A new key may evict the least recently used
    /// keys. `now` is in milliseconds.
    pub(super) fn check_and_count(&self, key: &[u8], limit: Limit, now: u64) -> LimitOutcome {
        let mut buckets = self.buckets.lock();
        if let Some(bucket) = buckets.get_mut(key) {
            let excess = bucket.excess_after(limit.rate, now);
            if excess > limit.burst {
                return LimitOutcome::Beyond(excess);
            }
            bucket.fill(excess, now);
            return LimitOutcome::Within(excess);
        }
        // Each insertion first removes up to two idle buckets, the oldest first, which amortizes the cleanup.
        for _ in 0..2 {
            if !buckets.remove_oldest_if(|bucket| bucket.is_removable(limit.rate, now)) {
                break;
            }
        }
        if buckets.insert(key.into(), Bucket::new(now), weight(key, OVERHEAD)) {
            LimitOutcome::Within(0)
        } else {
            LimitOutcome::NoRoom
        }
    }

    /// Counts a request that [`Self::check`] has admitted, and returns its excess; 0 if its entry is larger than the
    /// table.
    pub(super) fn count(&self, key: &[u8], limit: Limit, now: u64) -> u64 {
        let unbounded = Limit { burst: u64::MAX, ..limit };
        match self.check_and_count(key, unbounded, now) {
            LimitOutcome::Within(excess) | LimitOutcome::Beyond(excess) => excess,
            LimitOutcome::NoRoom => 0,
        }
    }
}

impl Limit {
    /// Returns the delay of a request with this excess, in milliseconds.
    pub(super) fn wait_ms(&self, excess: u64) -> u64 {
        wait_ms(excess, self.delay, self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Limit = Limit { rate: 2000, burst: 1000, delay: 0 };

    #[test]
    fn burst_is_let_in_and_what_is_beyond_is_not_counted() {
        let table = RequestTable::new(1 << 20);
        assert_eq!(table.check_and_count(b"a", LIMIT, 1_000), LimitOutcome::Within(0));
        assert_eq!(table.check_and_count(b"a", LIMIT, 1_000), LimitOutcome::Within(1000));
        for _ in 0..5 {
            assert_eq!(table.check_and_count(b"a", LIMIT, 1_000), LimitOutcome::Beyond(2000));
        }
        assert_eq!(table.check_and_count(b"b", LIMIT, 1_000), LimitOutcome::Within(0));
        assert_eq!(table.check_and_count(b"a", LIMIT, 1_500), LimitOutcome::Within(1000));
    }

    #[test]
    fn asking_alone_counts_nothing() {
        let table = RequestTable::new(1 << 20);
        for _ in 0..5 {
            assert_eq!(table.check(b"a", LIMIT, 1_000), LimitOutcome::Within(0));
        }
        assert_eq!(table.count(b"a", LIMIT, 1_000), 0);
        assert_eq!(table.check(b"a", LIMIT, 1_000), LimitOutcome::Within(1000));
        assert_eq!(table.count(b"a", LIMIT, 1_000), 1000);
        assert_eq!(table.check(b"a", LIMIT, 1_000), LimitOutcome::Beyond(2000));
    }

    #[test]
    fn a_megabyte_holds_eight_thousand_addresses() {
        let table = RequestTable::new(1 << 20);
        for visitor in 0..20_000u32 {
            table.check_and_count(&visitor.to_be_bytes(), LIMIT, 1_000);
        }
        assert_eq!(table.buckets.lock().len(), 8192);
        // The table keeps the latest keys and has evicted the first.
        assert_eq!(table.check(&19_999u32.to_be_bytes(), LIMIT, 1_000), LimitOutcome::Within(1000));
        assert_eq!(table.check(&0u32.to_be_bytes(), LIMIT, 1_000), LimitOutcome::Within(0));
    }

    #[test]
    fn buckets_of_idle_clients_are_reused() {
        let table = RequestTable::new(1 << 20);
        for visitor in 0..1000u32 {
            table.check_and_count(&visitor.to_be_bytes(), LIMIT, 1_000);
        }
        for visitor in 1000..2000u32 {
            table.check_and_count(&visitor.to_be_bytes(), LIMIT, 100_000);
        }
        assert_eq!(table.buckets.lock().len(), 1000);
    }
}
