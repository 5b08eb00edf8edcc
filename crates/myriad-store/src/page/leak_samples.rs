//! State of a zone's sampled verifications (`leak_guard sample=`): which pages are checked, and which are suspected.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use myriad_base::bounded::Lru;
use myriad_http::Fields;
use parking_lot::Mutex;

use crate::page::key::CODINGS;

/// Maximum number of pages whose last check is remembered, and of suspected pages; those used least recently are dropped.
const MAX_REMEMBERED: u64 = 4096;
/// Minimum time in milliseconds between two checks of a page.
const CHECK_PAUSE_MS: u64 = 600_000;
/// Time in milliseconds for which a page is suspected.
const SUSPICION_MS: u64 = 3_600_000;
/// Number of comparisons without a difference after which a page is no longer suspected.
const UNAFFECTED: u8 = 3;
/// Number of comparisons without a result after which a page is no longer suspected.
const UNKNOWN: u8 = 5;
/// Maximum number of comparisons of a suspected page.
const MAX_COMPARISONS: u8 = 16;
/// Maximum size of the header fields stored with a suspicion, in bytes. If they are longer, none of them is stored.
const MAX_FIELDS: usize = 4096;
/// Maximum number of checks that wait for their time.
const MAX_WAITING: usize = 64;
/// Number of milliseconds in an hour.
const HOUR_MS: f64 = 3_600_000.0;

/// Reason for the check of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleCause {
    /// The page was requested for the second time since it was stored.
    SecondHit,
    /// The page is checked as part of a continuous sample. The number is the share of the stored pages that may be
    /// checked per hour, in millionths.
    Sample(u32),
}

/// Result of a comparison of a response with those of requests without data of its visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonResult {
    /// The responses are equal.
    Unaffected,
    /// The responses are equal, but the visitor got a stored page. Such comparisons do not show that later responses can be
    /// shared, because visitors without the input that changes the page are frequent.
    UnaffectedHit,
    /// An input of the visitor changes the response.
    Affected,
    /// No comparison was possible, or the difference could not be repeated.
    Unknown,
}

/// State of the sampled verifications of a zone. All workers share it.
#[derive(Debug)]
pub struct LeakSamples {
    state: Mutex<SampleState>,
    hasher: RandomState,
    /// Number of suspected pages. While it is 0, no lock is taken.
    suspected: AtomicUsize,
    /// Counters of the zone's sampled verifications.
    pub counts: SampleCounts,
}

/// Counters of sampled verifications.
#[derive(Debug, Default)]
pub struct SampleCounts {
    /// Number of checks of pages.
    pub pages: AtomicU64,
    /// Number of requests sent to origins for the checks.
    pub requests: AtomicU64,
    /// Total time in milliseconds that origins needed for the requests of the checks.
    pub origin_ms: AtomicU64,
    /// Number of checks omitted because the time budget was used up.
    pub over_budget: AtomicU64,
    /// Number of checks of pages that differ at each request.
    pub unstable: AtomicU64,
}

#[derive(Debug)]
struct SampleState {
    /// Time of the last check of a page, in milliseconds, by the hash of its key.
    checked: Lru<u64, u64>,
    suspected: Lru<u64, Suspicion>,
    /// Pages that were reported as unstable.
    unstable: Lru<u64, ()>,
    /// Number of checks that wait for their time.
    waiting: usize,
    /// Number of pages that may be added to the sample, at the time `allowed_at`.
    allowed: f64,
    allowed_at: u64,
}

/// Suspicion that a page contains data of a visitor.
#[derive(Debug)]
struct Suspicion {
    until: u64,
    is_comparing: bool,
    /// Number of comparisons.
    compared: u8,
    /// Number of comparisons without a difference.
    unaffected: u8,
    /// Number of comparisons without a result.
    unknown: u8,
    /// Header fields, specific to its visitor or to a proxy in front, of the request whose response differs from the
    /// stored page. Cookies and `Authorization` are not included.
    fields: Arc<Fields>,
}

impl Default for LeakSamples {
    fn default() -> Self {
        let state = SampleState {
            checked: Lru::new(MAX_REMEMBERED),
            suspected: Lru::new(MAX_REMEMBERED),
            unstable: Lru::new(MAX_REMEMBERED),
            waiting: 0,
            allowed: 1.0,
            allowed_at: 0,
        };
        Self {
            state: Mutex::new(state),
            hasher: RandomState::new(),
            suspected: AtomicUsize::new(0),
            counts: SampleCounts::default(),
        }
    }
}

impl LeakSamples {
    /// Returns true if a check of a page may be started, and records it; [`Self::end_wait`] must follow. Returns false
    /// if the page was checked within the last ten minutes, 64 checks are waiting, or the hourly share of a
    /// [`SampleCause::Sample`] is used up. `pages` returns the number of stored pages; `now` is in milliseconds.
    pub fn begin_check(
        &self,
        key: &[u8],
        cause: SampleCause,
        pages: impl FnOnce() -> usize,
        now: u64,
    ) -> bool {
        let key = self.hash(key);
        let mut state = self.state.lock();
        let is_recent = state.checked.get(&key).is_some_and(|last| now < last.saturating_add(CHECK_PAUSE_MS));
        if is_recent || state.waiting >= MAX_WAITING || !state.admits(cause, pages, now) {
            return false;
        }
        state.checked.insert(key, now, 1);
        state.waiting += 1;
        true
    }

    /// Records that a check no longer waits for its time. `is_started` is false if the check was given up, so that the
    /// page can be checked later.
    pub fn end_wait(&self, key: &[u8], is_started: bool) {
        let mut state = self.state.lock();
        state.waiting = state.waiting.saturating_sub(1);
        if !is_started {
            state.checked.remove(&self.hash(key));
        }
    }

    /// Records that a page differs at each request. Returns true for the first time.
    pub fn note_unstable(&self, key: &[u8]) -> bool {
        self.counts.unstable.fetch_add(1, Relaxed);
        let key = self.hash(key);
        let mut state = self.state.lock();
        let is_known = state.unstable.get(&key).is_some();
        state.unstable.insert(key, (), 1);
        !is_known
    }

    /// Records that a page is suspected, for an hour. `fields` are the header fields, specific to its visitor or to a
    /// proxy in front, of the request whose response differs from the stored page; more than 4 KB of them are not
    /// stored.
    pub fn suspect(&self, key: &[u8], fields: Fields, now: u64) {
        let suspicion = Suspicion {
            until: now.saturating_add(SUSPICION_MS),
            is_comparing: false,
            compared: 0,
            unaffected: 0,
            unknown: 0,
            fields: Arc::new(if fields.size() > MAX_FIELDS { Fields::new() } else { fields }),
        };
        let mut state = self.state.lock();
        state.suspected.insert(self.hash(key), suspicion, 1);
        self.suspected.store(state.suspected.len(), Relaxed);
    }

    /// Returns the fields given to [`Self::suspect`]; `None` if the page is not suspected.
    pub fn suspicion(&self, key: &[u8], now: u64) -> Option<Arc<Fields>> {
        if self.suspected.load(Relaxed) == 0 {
            return None;
        }
        let key = self.hash(key);
        let mut state = self.state.lock();
        let found =
            state.suspected.get(&key).map(|suspicion| (suspicion.until, Arc::clone(&suspicion.fields)));
        let (until, fields) = found?;
        if until <= now {
            state.suspected.remove(&key);
            self.suspected.store(state.suspected.len(), Relaxed);
            return None;
        }
        Some(fields)
    }

    /// Returns true if a suspected page may be compared now; [`Self::end_comparison`] must follow. Returns false if the
    /// page is not suspected, or another comparison of it is in progress.
    pub fn begin_comparison(&self, key: &[u8]) -> bool {
        let mut state = self.state.lock();
        let found = state.suspected.get_mut(&self.hash(key));
        found.is_some_and(|suspicion| !std::mem::replace(&mut suspicion.is_comparing, true))
    }

    /// Records the result of a comparison. After the third `Unaffected`, the fifth `Unknown`, or the 16th comparison in
    /// total, the page is no longer suspected.
    pub fn end_comparison(&self, key: &[u8], result: ComparisonResult) {
        let key = self.hash(key);
        let mut state = self.state.lock();
        let Some(suspicion) = state.suspected.get_mut(&key) else { return };
        suspicion.is_comparing = false;
        suspicion.compared += 1;
        match result {
            ComparisonResult::Unaffected => suspicion.unaffected += 1,
            ComparisonResult::Affected | ComparisonResult::UnaffectedHit => {}
            ComparisonResult::Unknown => suspicion.unknown += 1,
        }
        if suspicion.unaffected >= UNAFFECTED
            || suspicion.unknown >= UNKNOWN
            || suspicion.compared >= MAX_COMPARISONS
        {
            state.suspected.remove(&key);
            self.suspected.store(state.suspected.len(), Relaxed);
        }
    }

    /// Returns the hash of the page with a cache key. The key for other content codings and the shared key have the
    /// same hash.
    fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key.strip_suffix(CODINGS).unwrap_or(key))
    }

    /// Removes the suspicions of all pages.
    pub fn forgive(&self) {
        let mut state = self.state.lock();
        state.suspected.clear();
        self.suspected.store(0, Relaxed);
    }
}

impl SampleState {
    fn admits(&mut self, cause: SampleCause, pages: impl FnOnce() -> usize, now: u64) -> bool {
        let SampleCause::Sample(millionths) = cause else { return true };
        let per_hour = pages() as f64 * f64::from(millionths) / 1e6;
        let passed_ms = now.saturating_sub(self.allowed_at) as f64;
        self.allowed = (self.allowed + passed_ms * per_hour / HOUR_MS).min(per_hour.max(1.0));
        self.allowed_at = now;
        let is_allowed = self.allowed >= 1.0;
        if is_allowed {
            self.allowed -= 1.0;
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_checked_at_its_second_hit_once_in_ten_minutes() {
        let samples = LeakSamples::default();
        let check = |key: &[u8], now| samples.begin_check(key, SampleCause::SecondHit, || 1, now);
        assert!(check(b"/a", 0) && !check(b"/a", CHECK_PAUSE_MS - 1) && check(b"/a", CHECK_PAUSE_MS));
        samples.end_wait(b"/a", false);
        assert!(check(b"/a", CHECK_PAUSE_MS + 1), "the check was given up");
        for number in 0..MAX_WAITING {
            check(number.to_string().as_bytes(), 0);
        }
        assert!(!check(b"/last", 0));
        samples.end_wait(b"/a", true);
        assert!(check(b"/last", 0));
    }

    #[test]
    fn sample_has_a_part_of_the_pages_per_hour() {
        let samples = LeakSamples::default();
        let mut checked = 0;
        for second in 0..3600_u64 {
            let key = second.to_le_bytes();
            if samples.begin_check(&key, SampleCause::Sample(10_000), || 1000, second * 1000) {
                samples.end_wait(&key, true);
                checked += 1;
            }
        }
        assert!((10..=12).contains(&checked), "{checked}");
    }

    #[test]
    fn suspicion_ends_after_three_equal_responses_or_an_hour() {
        let samples = LeakSamples::default();
        assert!(samples.suspicion(b"/a", 0).is_none() && !samples.begin_comparison(b"/a"));
        samples.suspect(b"/a", Fields::new(), 0);
        for result in [ComparisonResult::Unaffected, ComparisonResult::Affected, ComparisonResult::Unaffected]
        {
            assert!(samples.begin_comparison(b"/a") && !samples.begin_comparison(b"/a"), "one at a time");
            samples.end_comparison(b"/a", result);
        }
        assert!(samples.suspicion(b"/a", 1).is_some());
        samples.end_comparison(b"/a", ComparisonResult::Unaffected);
        assert!(samples.suspicion(b"/a", 1).is_none());
        for (result, count) in [(ComparisonResult::Unknown, 5), (ComparisonResult::Affected, 16)] {
            samples.suspect(b"/a", Fields::new(), 0);
            for _ in 1..count {
                samples.end_comparison(b"/a", result);
                assert!(samples.suspicion(&[b"/a", CODINGS].concat(), 1).is_some(), "{result:?}");
            }
            samples.end_comparison(b"/a", result);
            assert!(samples.suspicion(b"/a", 1).is_none(), "{result:?}");
        }
        samples.suspect(b"/b", Fields::new(), 0);
        assert!(samples.suspicion(b"/b", SUSPICION_MS - 1).is_some());
        assert!(samples.suspicion(b"/b", SUSPICION_MS).is_none());
    }
}
