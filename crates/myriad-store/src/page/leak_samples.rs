//! State of a zone's sampled verifications (`leak_guard sample=`): which pages are checked, and which are suspected.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use myriad_base::bounded::Lru;
use myriad_http::Fields;
use myriad_policy::RequestInput;
use parking_lot::Mutex;

use crate::page::key::CODINGS;

/// Maximum number of pages whose last check is remembered, of suspected pages, and of pages reported as unstable; those
/// checked, compared or reported least recently are dropped.
const MAX_REMEMBERED: u64 = 4096;
/// Minimum time in milliseconds between two checks of a page.
const CHECK_PAUSE_MS: u64 = 600_000;
/// Time in milliseconds for which a page is suspected.
const SUSPICION_MS: u64 = 3_600_000;
/// Number of comparisons in which no input that identifies visitors changed the response, after which responses to
/// visitors with known inputs are shared again.
const UNAFFECTED: u8 = 3;
/// Number of comparisons without a result after which a suspected page is no longer compared.
const UNKNOWN: u8 = 5;
/// Maximum number of comparisons of a suspected page.
const MAX_COMPARISONS: u8 = 32;
/// Maximum number of inputs without effect, and of inputs with an effect, that are stored for a suspected page.
const MAX_INPUTS: usize = 256;
/// Maximum size of the header fields stored with a suspicion, in bytes. If they are longer, none of them is stored.
const MAX_FIELDS: usize = 4096;
/// Maximum number of checks that wait for their time.
const MAX_WAITING: usize = 64;
/// Number of milliseconds in an hour.
const HOUR_MS: f64 = 3_600_000.0;

/// Reason for the check of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleCause {
    /// The page had its second hit since it was stored, or a later hit (below the 64th) that repeats an attempt to
    /// start this check.
    SecondHit,
    /// The page is checked as part of a continuous sample. The number is the share of the stored pages that may be
    /// checked per hour, in millionths.
    Sample(u32),
}

/// Result of comparing the response for a visitor with responses to requests that contain none of the visitor's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonResult {
    /// The responses are equal.
    Unaffected,
    /// The responses are equal, but the visitor received a stored page. This does not show that later responses can be
    /// shared: most visitors may lack the input that changes the page.
    UnaffectedHit,
    /// A cookie or credentials of the visitor change the response.
    Affected,
    /// Another input, for example `User-Agent`, changes the response, which remains shared.
    AffectedByOther,
    /// The stored page differs from the response to a request without the visitor's inputs, and is removed.
    Removed,
    /// No comparison was possible, or the difference could not be repeated.
    Unknown,
}

/// State of the sampled verifications of a zone. All workers share it.
#[derive(Debug)]
pub struct LeakSamples {
    state: Mutex<SampleState>,
    hasher: RandomState,
    /// The [`page_bit`]s of all suspected pages. No lock is taken for a page whose bit is not set.
    suspected_bits: AtomicU64,
    /// Counters of the zone's sampled verifications.
    pub counts: SampleCounts,
}

/// Counters of sampled verifications.
#[derive(Debug, Default)]
pub struct SampleCounts {
    /// Number of checks of pages.
    pub pages: AtomicU64,
    /// Number of requests sent to origins for checks and comparisons.
    pub requests: AtomicU64,
    /// Total time in milliseconds that origins needed for the requests of checks and comparisons.
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
    /// Number of further checks by a continuous sample that the hourly share permits, as of the time `allowed_at`.
    allowed: f64,
    allowed_at: u64,
}

/// Suspicion that a page contains data of a visitor.
#[derive(Debug)]
struct Suspicion {
    /// Hash of the page's key.
    page: u64,
    until: u64,
    is_comparing: bool,
    /// Number of comparisons.
    compared: u8,
    /// Number of comparisons, since the page was last removed, in which no input that identifies visitors changed the
    /// response. Comparisons at hits without a difference are not counted.
    unaffected: u8,
    /// Number of comparisons without a result.
    unknown: u8,
    /// Hashes of the inputs of visitors whose responses did not differ ([`RequestInput::identity`]).
    harmless: Vec<u64>,
    /// Hashes of the names of cookies and fields that change the page and identify visitors.
    causes: Vec<u64>,
    /// True if an input that does not identify visitors changes the page.
    depends_on_other: bool,
    /// Generation of the stored page that was compared last.
    checked: Option<u64>,
    /// Header fields, specific to its visitor or to a proxy in front, of the request whose response differs from the
    /// stored page. Cookies and `Authorization` are not included.
    fields: Arc<Fields>,
}

impl Suspicion {
    /// Returns whether responses to visitors with any inputs are withheld.
    fn is_strict(&self) -> bool {
        self.is_compared() && self.unaffected < UNAFFECTED
    }

    /// Returns whether the page is still compared.
    fn is_compared(&self) -> bool {
        self.unknown < UNKNOWN && self.compared < MAX_COMPARISONS
    }
}

/// Suspicion that a page contains data of a visitor.
#[derive(Clone, Debug)]
pub struct SuspectedPage {
    /// Fields given to [`LeakSamples::suspect`].
    pub fields: Arc<Fields>,
    /// True while further comparisons of the page are permitted.
    pub is_compared: bool,
    /// True if an input that does not identify visitors changes the page, so that the stored page may differ because of
    /// it.
    pub depends_on_other: bool,
}

/// Adds hashes that the list does not contain, up to [`MAX_INPUTS`].
fn add_hashes(list: &mut Vec<u64>, hashes: impl Iterator<Item = u64>) {
    for hash in hashes {
        if list.len() < MAX_INPUTS && !list.contains(&hash) {
            list.push(hash);
        }
    }
}

/// Returns one of 64 bits for a page, by the hash of its key.
fn page_bit(page: u64) -> u64 {
    1 << (page % 64)
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
            suspected_bits: AtomicU64::new(0),
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

    /// Records that a check with this cause no longer waits for its time. `is_started` is false if the check was given
    /// up: the page can then be checked later, and its place in the hourly share is available for another page.
    pub fn end_wait(&self, key: &[u8], cause: SampleCause, is_started: bool) {
        let mut state = self.state.lock();
        state.waiting = state.waiting.saturating_sub(1);
        if !is_started {
            state.checked.remove(&self.hash(key));
            if matches!(cause, SampleCause::Sample(_)) {
                // The next call of `admits` applies the maximum.
                state.allowed += 1.0;
            }
        }
    }

    /// Counts a check of a page that differs at each request. Returns true if the page is not yet in the list of
    /// unstable pages, and adds it. The list has a maximum size; the least recently reported pages are removed from it.
    pub fn note_unstable(&self, key: &[u8]) -> bool {
        self.counts.unstable.fetch_add(1, Relaxed);
        let key = self.hash(key);
        let mut state = self.state.lock();
        let is_known = state.unstable.get(&key).is_some();
        state.unstable.insert(key, (), 1);
        !is_known
    }

    /// Records that a page is suspected, for an hour. The inputs that are known to change it remain known. `fields` are
    /// the header fields, specific to its visitor or to a proxy in front, of the request whose response differs from
    /// the stored page; more than 4 KB of them are not stored. Expired suspicions of all pages are removed.
    pub fn suspect(&self, key: &[u8], fields: Fields, now: u64) {
        let key = self.hash(key);
        let mut state = self.state.lock();
        let causes = state.suspected.remove(&key).map(|before| before.causes).unwrap_or_default();
        let expired = state.suspected.values().filter(|suspicion| suspicion.until <= now);
        for page in expired.map(|suspicion| suspicion.page).collect::<Vec<_>>() {
            state.suspected.remove(&page);
        }
        let suspicion = Suspicion {
            page: key,
            until: now.saturating_add(SUSPICION_MS),
            is_comparing: false,
            compared: 0,
            unaffected: 0,
            unknown: 0,
            harmless: Vec::new(),
            causes,
            depends_on_other: false,
            checked: None,
            fields: Arc::new(if fields.size() > MAX_FIELDS { Fields::new() } else { fields }),
        };
        state.suspected.insert(key, suspicion, 1);
        self.update_bits(&state);
    }

    /// Returns false if a page is not suspected. Takes no lock, so it may return true for other pages: those with the
    /// [`page_bit`] of a suspected page, and those whose suspicion has expired but was not yet removed.
    #[inline]
    pub fn may_be_suspected(&self, key: &[u8]) -> bool {
        let bits = self.suspected_bits.load(Relaxed);
        bits != 0 && bits & page_bit(self.hash(key)) != 0
    }

    /// Sets the bits of the suspected pages, after a suspicion was added or removed.
    fn update_bits(&self, state: &SampleState) {
        let bits = state.suspected.values().fold(0, |bits, suspicion| bits | page_bit(suspicion.page));
        self.suspected_bits.store(bits, Relaxed);
    }

    /// Returns the suspicion of a page; `None` if the page is not suspected or its suspicion has expired at `now`, in
    /// milliseconds.
    pub fn suspicion(&self, key: &[u8], now: u64) -> Option<SuspectedPage> {
        let key = self.hash(key);
        if self.suspected_bits.load(Relaxed) & page_bit(key) == 0 {
            return None;
        }
        let mut state = self.state.lock();
        let found = state.suspected.get(&key)?;
        if found.until <= now {
            state.suspected.remove(&key);
            self.update_bits(&state);
            return None;
        }
        Some(SuspectedPage {
            fields: Arc::clone(&found.fields),
            is_compared: found.is_compared(),
            depends_on_other: found.depends_on_other,
        })
    }

    /// Returns true if the response to a visitor with these inputs must not be shared without a comparison: until the
    /// third comparison in which no input that identifies visitors changed the response, all with inputs; later, those
    /// with an input that was in no comparison without a difference; and always those with a cookie or credentials that
    /// are known to change the page.
    ///
    /// Once no more comparisons are permitted, only the last case applies. False for a page that is not suspected.
    pub fn withholds(&self, key: &[u8], inputs: &[RequestInput]) -> bool {
        let state = self.state.lock();
        let Some(suspicion) = state.suspected.get(&self.hash(key)) else { return false };
        let is_cause = |input: &RequestInput| suspicion.causes.contains(&self.hash_name(input));
        let is_new = |input: &RequestInput| !suspicion.harmless.contains(&self.hash_input(input));
        !inputs.is_empty() && suspicion.is_strict()
            || inputs.iter().any(is_cause)
            || suspicion.is_compared() && inputs.iter().any(is_new)
    }

    /// Returns true if the hit of a suspected page shows more than earlier comparisons: the stored page with this
    /// generation was not compared (unless the page is known to depend on an input that identifies no visitor), or one
    /// of the visitor's inputs was in no comparison without a difference. Returns false for a page that is not
    /// suspected.
    pub fn is_new(&self, key: &[u8], generation: u64, inputs: &[RequestInput]) -> bool {
        let state = self.state.lock();
        let found = state.suspected.get(&self.hash(key));
        found.is_some_and(|suspicion| {
            !suspicion.depends_on_other && suspicion.checked != Some(generation)
                || inputs.iter().any(|input| !suspicion.harmless.contains(&self.hash_input(input)))
        })
    }

    /// Records that the stored page with this generation does not differ from the response to a request without data of
    /// a visitor.
    pub fn note_equal(&self, key: &[u8], generation: u64) {
        if let Some(suspicion) = self.state.lock().suspected.get_mut(&self.hash(key)) {
            suspicion.checked = Some(generation);
        }
    }

    /// Returns true if a suspected page may be compared now; [`Self::end_comparison`] must follow. Returns false if the
    /// page is not suspected, another comparison of it is in progress, or no more comparisons are permitted.
    pub fn begin_comparison(&self, key: &[u8]) -> bool {
        let mut state = self.state.lock();
        let found = state.suspected.get_mut(&self.hash(key));
        found.is_some_and(|suspicion| {
            suspicion.is_compared() && !std::mem::replace(&mut suspicion.is_comparing, true)
        })
    }

    /// Records the result of a comparison. `inputs` are the visitor's inputs; after [`ComparisonResult::Affected`], those
    /// that change the page. After the fifth `Unknown`, or the 32nd comparison in total, the page is no longer compared;
    /// it then remains suspected only if a cookie or credentials are known to change it.
    pub fn end_comparison(&self, key: &[u8], result: ComparisonResult, inputs: &[RequestInput]) {
        let key = self.hash(key);
        let mut state = self.state.lock();
        let Some(suspicion) = state.suspected.get_mut(&key) else { return };
        suspicion.is_comparing = false;
        suspicion.compared += 1;
        match result {
            ComparisonResult::Unaffected => suspicion.unaffected += 1,
            ComparisonResult::UnaffectedHit => {}
            ComparisonResult::Affected => {
                add_hashes(&mut suspicion.causes, inputs.iter().map(|input| self.hash_name(input)));
            }
            ComparisonResult::AffectedByOther => {
                suspicion.unaffected += 1;
                suspicion.depends_on_other = true;
            }
            ComparisonResult::Removed => suspicion.unaffected = 0,
            ComparisonResult::Unknown => suspicion.unknown += 1,
        }
        if matches!(result, ComparisonResult::Unaffected | ComparisonResult::UnaffectedHit) {
            add_hashes(&mut suspicion.harmless, inputs.iter().map(|input| self.hash_input(input)));
        }
        if !suspicion.is_compared() && suspicion.causes.is_empty() {
            state.suspected.remove(&key);
            self.update_bits(&state);
        }
    }

    fn hash_name(&self, input: &RequestInput) -> u64 {
        self.hasher.hash_one((matches!(input, RequestInput::Cookie(_)), input.name()))
    }

    fn hash_input(&self, input: &RequestInput) -> u64 {
        self.hasher.hash_one(input.identity())
    }

    /// Returns the hash of a page's cache key. A key of [`of_other_codings`](crate::page::key::of_other_codings) has
    /// the same hash as the key from which it was made.
    fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key.strip_suffix(CODINGS).unwrap_or(key))
    }

    /// Removes the suspicions of all pages.
    pub fn forgive(&self) {
        let mut state = self.state.lock();
        state.suspected.clear();
        self.update_bits(&state);
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
        samples.end_wait(b"/a", SampleCause::SecondHit, false);
        assert!(check(b"/a", CHECK_PAUSE_MS + 1), "the check was given up");
        for number in 0..MAX_WAITING {
            check(number.to_string().as_bytes(), 0);
        }
        assert!(!check(b"/last", 0));
        samples.end_wait(b"/a", SampleCause::SecondHit, true);
        assert!(check(b"/last", 0));
    }

    #[test]
    fn check_that_was_given_up_does_not_use_the_hourly_share() {
        let samples = LeakSamples::default();
        let cause = SampleCause::Sample(10_000);
        let check = |key: &[u8]| samples.begin_check(key, cause, || 100, 0);
        for _ in 0..3 {
            assert!(check(b"/a") && !check(b"/b"), "one page per hour");
            samples.end_wait(b"/a", cause, false);
        }
        assert!(check(b"/b"));
        samples.end_wait(b"/b", cause, true);
        assert!(!check(b"/a"));
    }

    #[test]
    fn sample_has_a_part_of_the_pages_per_hour() {
        let samples = LeakSamples::default();
        let mut checked = 0;
        for second in 0..3600_u64 {
            let key = second.to_le_bytes();
            let cause = SampleCause::Sample(10_000);
            if samples.begin_check(&key, cause, || 1000, second * 1000) {
                samples.end_wait(&key, cause, true);
                checked += 1;
            }
        }
        assert!((10..=12).contains(&checked), "{checked}");
    }

    fn cookie(pair: &str) -> RequestInput {
        RequestInput::Cookie(pair.as_bytes().into())
    }

    fn compare(samples: &LeakSamples, result: ComparisonResult, inputs: &[RequestInput]) {
        assert!(samples.begin_comparison(b"/a") && !samples.begin_comparison(b"/a"), "one at a time");
        samples.end_comparison(b"/a", result, inputs);
    }

    #[test]
    fn after_three_equal_responses_only_those_with_new_inputs_are_withheld() {
        let samples = LeakSamples::default();
        assert!(samples.suspicion(b"/a", 0).is_none() && !samples.begin_comparison(b"/a"));
        samples.suspect(b"/a", Fields::new(), 0);
        let known = [cookie("_ga=GA1.1.1234567"), cookie("lang=de")];
        for _ in 0..3 {
            assert!(samples.withholds(b"/a", &known) && !samples.withholds(b"/a", &[]));
            compare(&samples, ComparisonResult::Unaffected, &known);
        }
        assert!(!samples.withholds(b"/a", &known) && samples.suspicion(b"/a", 1).is_some());
        assert!(!samples.withholds(b"/a", &[cookie("_ga=GA1.1.7654321")]), "another id");
        for new in ["lang=fr", "member=1234567890"] {
            assert!(
                samples.withholds(b"/a", &[cookie(new)]) && samples.is_new(b"/a", 7, &[cookie(new)]),
                "{new}"
            );
        }
        assert!(samples.is_new(b"/a", 7, &known));
        samples.note_equal(b"/a", 7);
        assert!(!samples.is_new(b"/a", 7, &known) && samples.is_new(b"/a", 8, &known), "another page");
        compare(&samples, ComparisonResult::Removed, &known);
        assert!(samples.withholds(b"/a", &known), "the stored page differed");
    }

    #[test]
    fn only_pages_with_the_bit_of_a_suspected_page_may_be_suspected() {
        let samples = LeakSamples::default();
        let bit = |key: &[u8]| page_bit(samples.hash(key));
        let other = (0..1000_u32).map(u32::to_le_bytes).find(|key| bit(key) != bit(b"/a"));
        let other = other.expect("a page with another bit");
        let suspected = || (samples.may_be_suspected(b"/a"), samples.may_be_suspected(&other));
        assert_eq!(suspected(), (false, false));
        samples.suspect(b"/a", Fields::new(), 0);
        assert_eq!(suspected(), (true, false));
        assert!(samples.may_be_suspected(&[b"/a", CODINGS].concat()), "the key for other content codings");
        samples.suspect(&other, Fields::new(), SUSPICION_MS - 1);
        assert_eq!(suspected(), (true, true));
        samples.suspect(&other, Fields::new(), SUSPICION_MS);
        assert_eq!(suspected(), (false, true), "the first suspicion has expired");
        assert!(samples.suspicion(&other, 2 * SUSPICION_MS).is_none());
        assert_eq!(suspected(), (false, false));
        samples.suspect(b"/a", Fields::new(), 0);
        samples.forgive();
        assert_eq!(suspected(), (false, false));
    }

    #[test]
    fn inputs_of_several_comparisons_are_stored_once() {
        let samples = LeakSamples::default();
        samples.suspect(b"/a", Fields::new(), 0);
        let many: Vec<_> = (0..100).map(|number| cookie(&format!("c{number}=1"))).collect();
        for _ in 0..3 {
            compare(&samples, ComparisonResult::Unaffected, &many);
        }
        let other = [cookie("lang=de")];
        compare(&samples, ComparisonResult::Unaffected, &other);
        assert!(!samples.withholds(b"/a", &many) && !samples.withholds(b"/a", &other));
    }

    #[test]
    fn input_that_changes_the_page_is_withheld_for_an_hour() {
        let samples = LeakSamples::default();
        samples.suspect(b"/a", Fields::new(), 0);
        let visitor = [cookie("lang=de"), cookie("member=1234567890")];
        compare(&samples, ComparisonResult::Affected, &visitor[1..]);
        for _ in 1..MAX_COMPARISONS {
            compare(&samples, ComparisonResult::Unaffected, &visitor);
        }
        assert!(!samples.begin_comparison(b"/a"));
        assert!(samples.suspicion(b"/a", SUSPICION_MS - 1).is_some_and(|page| !page.is_compared));
        assert!(samples.withholds(b"/a", &[cookie("member=0987654321")]));
        assert!(!samples.withholds(b"/a", &[cookie("lang=fr")]), "no more comparisons");
        samples.suspect(b"/a", Fields::new(), 0);
        assert!(samples.withholds(b"/a", &visitor) && samples.begin_comparison(b"/a"));
        assert!(samples.suspicion(b"/a", SUSPICION_MS).is_none());
    }

    #[test]
    fn suspicion_without_a_cause_ends_after_the_last_comparison() {
        let samples = LeakSamples::default();
        for (result, count) in [(ComparisonResult::Unknown, 5), (ComparisonResult::UnaffectedHit, 32)] {
            samples.suspect(b"/a", Fields::new(), 0);
            for _ in 1..count {
                compare(&samples, result, &[]);
                assert!(samples.suspicion(&[b"/a", CODINGS].concat(), 1).is_some(), "{result:?}");
            }
            compare(&samples, result, &[]);
            assert!(samples.suspicion(b"/a", 1).is_none(), "{result:?}");
        }
    }
}
