//! Rate limit of new items (query strings, passes) of each client, with a bounded memory of admitted items.

use std::hash::{BuildHasher, Hash, RandomState};

use myriad_base::bounded::Lru;
use parking_lot::Mutex;

/// Maximum number of admitted items (queries or challenge passes) that a table remembers; the least recently used are
/// evicted. They occupy some megabytes.
const ADMITTED: u64 = 65_536;
/// Maximum number of clients that a table counts; the least recently used are evicted. They occupy less than two
/// megabytes.
const CLIENTS: u64 = 16_384;

/// Rate at which new items (queries or challenge passes) of one client are admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AdmissionRate {
    /// Interval in which one new item is admitted, in milliseconds.
    pub interval_ms: u64,
    /// Number of new items that are admitted at once after a quiet time, at least 1.
    pub burst: u64,
    /// Maximum delay of a new item beyond the burst, in milliseconds.
    pub wait_ms: u64,
}

/// Admitted items, and counts of all clients. All workers share a table, and a reload preserves it. Keys are hashed
/// with a random seed: clients choose the keys, and must not be able to construct collisions.
pub(crate) struct RateTable {
    seed: RandomState,
    counts: Mutex<RateCounts>,
}

struct RateCounts {
    admitted: Lru<u64, ()>,
    /// Time at which each client will have its whole burst again, in milliseconds of a monotonic clock.
    rested_at: Lru<u64, u64>,
}

impl Default for RateTable {
    fn default() -> Self {
        let counts = RateCounts { admitted: Lru::new(ADMITTED), rested_at: Lru::new(CLIENTS) };
        Self { seed: RandomState::new(), counts: Mutex::new(counts) }
    }
}

impl RateTable {
    /// Admits an item for a client and returns its delay in milliseconds: 0 within the burst, and for an admitted item
    /// that the table remembers. Returns `None` if the delay would exceed the rate's maximum; then nothing is counted.
    /// `now` is in milliseconds of a monotonic clock.
    pub(crate) fn admit(
        &self,
        thing: impl Hash,
        client: impl Hash,
        rate: AdmissionRate,
        now: u64,
    ) -> Option<u64> {
        let (thing, client) = (self.seed.hash_one(thing), self.seed.hash_one(client));
        let mut counts = self.counts.lock();
        if counts.admitted.get_mut(&thing).is_some() {
            return Some(0);
        }
        // A faster rate before a reload may have admitted more than the current rate allows; the excess is reduced to
        // the burst and the maximum delay of the current rate.
        let exhausted =
            now.saturating_add(rate.interval_ms.saturating_mul(rate.burst)).saturating_add(rate.wait_ms);
        let rested_at = counts.rested_at.get_mut(&client).map_or(now, |rested_at| {
            *rested_at = (*rested_at).clamp(now, exhausted);
            *rested_at
        });
        let free = rate.interval_ms.saturating_mul(rate.burst.saturating_sub(1));
        let wait_ms = (rested_at - now).saturating_sub(free);
        if wait_ms > rate.wait_ms {
            return None;
        }
        counts.rested_at.insert(client, rested_at.saturating_add(rate.interval_ms), 1);
        counts.admitted.insert(thing, (), 1);
        Some(wait_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: AdmissionRate = AdmissionRate { interval_ms: 1000, burst: 3, wait_ms: 0 };

    #[test]
    fn burst_is_admitted_then_one_in_each_interval() {
        let table = RateTable::default();
        let admits = |page: u32, now| table.admit(page, "client", RATE, now).is_some();
        assert_eq!([1, 2, 3, 4].map(|page| admits(page, 0)), [true, true, true, false]);
        assert!(admits(2, 0), "the item was admitted before");
        assert!(admits(4, 1000) && !admits(5, 1000));
        assert!(!admits(5, 1999) && admits(5, 2000));
        assert_eq!([6, 7, 8, 9].map(|page| admits(page, 60_000)), [true, true, true, false]);
    }

    #[test]
    fn what_is_beyond_the_burst_waits_for_its_turn_up_to_the_bound() {
        let table = RateTable::default();
        let rate = AdmissionRate { wait_ms: 2000, ..RATE };
        let waits = [1, 2, 3, 4, 5, 6, 4].map(|page: u32| table.admit(page, "client", rate, 0));
        assert_eq!(waits, [Some(0), Some(0), Some(0), Some(1000), Some(2000), None, Some(0)]);
        assert_eq!(table.admit(6, "client", rate, 500), None);
        assert_eq!(table.admit(6, "client", rate, 1000), Some(2000));
        assert_eq!(table.admit(7, "another", rate, 1000), Some(0));
    }

    #[test]
    fn count_of_a_former_rate_is_at_most_the_burst_of_the_current_rate() {
        let table = RateTable::default();
        for page in 0..100 {
            assert!(
                table
                    .admit(page, "client", AdmissionRate { interval_ms: 60_000, burst: 100, wait_ms: 0 }, 0)
                    .is_some()
            );
        }
        let admits = |now| table.admit(100, "client", RATE, now).is_some();
        assert!(!admits(0) && !admits(900) && admits(1_000));
    }

    #[test]
    fn each_client_has_its_own_rate() {
        let table = RateTable::default();
        for page in 0..3 {
            assert!(table.admit(page, "one", RATE, 0).is_some());
        }
        assert!(table.admit(3, "one", RATE, 0).is_none());
        assert!(table.admit(3, "two", RATE, 0).is_some());
    }

    #[test]
    fn memory_is_bounded_however_many_clients_there_are() {
        let table = RateTable::default();
        for number in 0..200_000_u32 {
            table.admit(number, number, RATE, 0);
        }
        let counts = table.counts.lock();
        assert_eq!((counts.admitted.len() as u64, counts.rested_at.len() as u64), (ADMITTED, CLIENTS));
    }
}
