//! Queries that were let through, and how many of each path, network or server.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::LazyLock;

use myriad_bounded::Lru;
use parking_lot::Mutex;

/// Most queries that are remembered, the latest: some megabytes.
const QUERIES: u64 = 65_536;
/// Most paths, networks and servers that are counted, the latest: below two megabytes.
const COUNTED: u64 = 16_384;

/// What the process knows; all workers share it, and it stays over reloads.
pub(super) static TABLE: LazyLock<Table> = LazyLock::new(Table::default);

/// What is told apart is told apart by a hash with a random seed: visitors choose queries, and cannot choose which of them meet.
pub(super) struct Table {
    seed: RandomState,
    known: Mutex<Known>,
}

struct Known {
    queries: Lru<u64, ()>,
    /// When each will have used up nothing of its rate, milliseconds.
    at_rest: Lru<u64, u64>,
}

impl Default for Table {
    fn default() -> Self {
        let known = Known { queries: Lru::new(QUERIES), at_rest: Lru::new(COUNTED) };
        Self { seed: RandomState::new(), known: Mutex::new(known) }
    }
}

impl Table {
    /// Whether a page may be fetched: it was let through before, or there is room for one more of what it is counted by.
    pub(super) fn lets(
        &self,
        page: impl Hash,
        counted_by: impl Hash,
        (interval_ms, burst): (u64, u64),
        now: u64,
    ) -> bool {
        let (page, counted_by) = (self.seed.hash_one(page), self.seed.hash_one(counted_by));
        let mut known = self.known.lock();
        if known.queries.get_mut(&page).is_some() {
            return true;
        }
        // Rules of before a reload may have let more through: that is as if all of today's were used up.
        let used_up = now.saturating_add(interval_ms.saturating_mul(burst));
        let at_rest = known.at_rest.get_mut(&counted_by).map_or(now, |at_rest| {
            *at_rest = (*at_rest).clamp(now, used_up);
            *at_rest
        });
        if at_rest - now > interval_ms.saturating_mul(burst - burst.min(1)) {
            return false;
        }
        known.at_rest.insert(counted_by, at_rest.saturating_add(interval_ms), 1);
        known.queries.insert(page, (), 1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: (u64, u64) = (1000, 3);

    #[test]
    fn burst_is_let_through_then_one_in_each_interval() {
        let table = Table::default();
        let lets = |page: u32, now| table.lets(page, "path", RATE, now);
        assert_eq!([1, 2, 3, 4].map(|page| lets(page, 0)), [true, true, true, false]);
        assert!(lets(2, 0), "what was let through is known");
        assert!(lets(4, 1000) && !lets(5, 1000));
        assert!(!lets(5, 1999) && lets(5, 2000));
        assert_eq!([6, 7, 8, 9].map(|page| lets(page, 60_000)), [true, true, true, false]);
    }

    #[test]
    fn what_former_rules_let_through_is_forgiven_as_the_rules_of_today_say() {
        let table = Table::default();
        for page in 0..100 {
            assert!(table.lets(page, "path", (60_000, 100), 0));
        }
        assert!(!table.lets(100, "path", RATE, 0));
        assert!(!table.lets(100, "path", RATE, 900) && table.lets(100, "path", RATE, 1_000));
    }

    #[test]
    fn each_has_its_own_rate() {
        let table = Table::default();
        for page in 0..3 {
            assert!(table.lets(page, "one", RATE, 0));
        }
        assert!(!table.lets(3, "one", RATE, 0));
        assert!(table.lets(3, "two", RATE, 0));
    }

    #[test]
    fn memory_is_bounded_however_many_come() {
        let table = Table::default();
        for number in 0..200_000_u32 {
            table.lets(number, number, RATE, 0);
        }
        let known = table.known.lock();
        assert_eq!((known.queries.len() as u64, known.at_rest.len() as u64), (QUERIES, COUNTED));
    }
}
