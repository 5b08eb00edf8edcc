//! Table of pages whose fetch has failed.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use myriad_base::bounded::Lru;
use parking_lot::Mutex;

use super::directives::BackoffRules;

/// Maximum number of pages in the table; the least recently used are evicted. They occupy less than a megabyte.
const PAGES: u64 = 16_384;

/// Pauses of pages after failed fetches (`origin_backoff`). All workers share this table, and it survives reloads.
pub(super) static TABLE: LazyLock<BackoffTable> = LazyLock::new(BackoffTable::default);

/// Pauses of pages whose fetch has failed. Pages are identified by a hash with a random seed: clients choose cache
/// keys, and must not be able to construct collisions.
pub(super) struct BackoffTable {
    seed: RandomState,
    pauses: Mutex<Lru<u64, PagePause>>,
}

struct PagePause {
    /// Number of consecutive failed fetches of the page.
    failures: u32,
    until_ms: u64,
    failure: u16,
}

/// Pause of a page, which must not be fetched now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivePause {
    /// Remaining pause, in milliseconds.
    pub left_ms: u64,
    /// Number that [`record_failure`](super::record_failure) received for the last failure.
    pub failure: u16,
}

impl Default for BackoffTable {
    fn default() -> Self {
        Self { seed: RandomState::new(), pauses: Mutex::new(Lru::new(PAGES)) }
    }
}

impl BackoffTable {
    /// Returns the active pause of a page; `None` if it may be fetched. The first call after a pause returns `None` and
    /// begins the next pause.
    pub(super) fn active_pause(
        &self,
        zone: &str,
        key: &[u8],
        rules: BackoffRules,
        now: u64,
    ) -> Option<ActivePause> {
        let mut pauses = self.pauses.lock();
        let pause = pauses.get_mut(&self.page(zone, key))?;
        // The rules may have changed since: a pause longer than the current maximum is replaced.
        if pause.until_ms.saturating_sub(now) > longest_ms(rules) {
            pause.until_ms = now.saturating_add(pause_ms(rules, pause.failures));
        }
        if now < pause.until_ms {
            return Some(ActivePause { left_ms: pause.until_ms - now, failure: pause.failure });
        }
        pause.until_ms = now.saturating_add(pause_ms(rules, pause.failures));
        None
    }

    pub(super) fn record_failure(
        &self,
        zone: &str,
        key: &[u8],
        rules: BackoffRules,
        (failure, now): (u16, u64),
    ) {
        let page = self.page(zone, key);
        let mut pauses = self.pauses.lock();
        let failures = pauses.get(&page).map_or(0, |pause| pause.failures).saturating_add(1);
        let until_ms = now.saturating_add(pause_ms(rules, failures));
        pauses.insert(page, PagePause { failures, until_ms, failure }, 1);
    }

    pub(super) fn record_success(&self, zone: &str, key: &[u8]) {
        self.pauses.lock().remove(&self.page(zone, key));
    }

    fn page(&self, zone: &str, key: &[u8]) -> u64 {
        self.seed.hash_one((zone, key))
    }
}

/// Returns the pause after this number of consecutive failures, in milliseconds. It is randomized by ±20%, so that
/// pages that failed together are not fetched again at the same time.
fn pause_ms(rules: BackoffRules, failures: u32) -> u64 {
    let doubled = rules.first_ms.saturating_mul(1_u64 << failures.saturating_sub(1).min(30));
    let pause = doubled.min(rules.max_ms);
    (pause - pause / 5 + fastrand::u64(0..=pause / 5 * 2)).max(1)
}

/// Returns the maximum of a randomized pause, in milliseconds.
fn longest_ms(rules: BackoffRules) -> u64 {
    rules.max_ms.saturating_add(rules.max_ms / 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: BackoffRules = BackoffRules { first_ms: 1000, max_ms: 8000 };

    #[test]
    fn pauses_grow_up_to_the_longest_and_end_with_a_success() {
        let table = BackoffTable::default();
        let mut now = 1_000_000;
        assert_eq!(table.active_pause("z", b"k", RULES, now), None);
        for pause in [1000, 2000, 4000, 8000, 8000, 8000] {
            table.record_failure("z", b"k", RULES, (502, now));
            let held = table.active_pause("z", b"k", RULES, now).expect("a pause");
            assert!((pause * 4 / 5..=pause * 6 / 5).contains(&held.left_ms), "{held:?} for {pause}");
            assert_eq!(held.failure, 502);
            assert!(table.active_pause("z", b"k", RULES, now + pause * 4 / 5 - 1).is_some());
            now += pause * 6 / 5;
            assert_eq!(table.active_pause("z", b"k", RULES, now), None);
        }
        table.record_success("z", b"k");
        table.record_failure("z", b"k", RULES, (504, now));
        assert!(table.active_pause("z", b"k", RULES, now).is_some_and(|held| held.left_ms <= 1200));
    }

    #[test]
    fn pause_of_former_rules_is_no_longer_than_those_of_today() {
        let table = BackoffTable::default();
        let hours = BackoffRules { first_ms: 3_600_000, max_ms: 3_600_000 };
        table.record_failure("z", b"k", hours, (502, 0));
        assert!(table.active_pause("z", b"k", hours, 0).is_some_and(|held| held.left_ms > 2_000_000));
        assert!(table.active_pause("z", b"k", RULES, 0).is_some_and(|held| held.left_ms <= 1_200));
        assert_eq!(table.active_pause("z", b"k", RULES, 1_200), None);
    }

    #[test]
    fn one_request_per_pause_may_try_origin_again() {
        let table = BackoffTable::default();
        table.record_failure("z", b"k", RULES, (502, 0));
        assert_eq!(table.active_pause("z", b"k", RULES, 1_200), None);
        assert!((0..10).all(|_| table.active_pause("z", b"k", RULES, 1_200).is_some()));
        assert_eq!(
            table.active_pause("z", b"k", RULES, 2_400),
            None,
            "another request may fetch, because the first has reported no result"
        );
    }

    #[test]
    fn zones_and_keys_are_separate_and_entry_count_is_bounded() {
        let table = BackoffTable::default();
        table.record_failure("z", b"k", RULES, (502, 0));
        assert!(
            table.active_pause("y", b"k", RULES, 0).is_none()
                && table.active_pause("z", b"kk", RULES, 0).is_none()
        );
        for number in 0..50_000_u32 {
            table.record_failure("z", &number.to_be_bytes(), RULES, (502, 0));
        }
        assert_eq!(table.pauses.lock().len() as u64, PAGES);
    }
}
