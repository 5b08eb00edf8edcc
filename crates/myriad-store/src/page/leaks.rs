//! Results of a zone's leak guard: pages that are not shared, and values that occur in pages by coincidence.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use myriad_base::bounded::Lru;
use myriad_log::LogRateLimit;
use parking_lot::Mutex;

/// Maximum number of findings that are listed; the oldest are dropped.
const MAX_FINDINGS: usize = 256;
/// Maximum number of quarantined pages, and of coincidences; those used least recently are dropped.
const MAX_REMEMBERED: u64 = 4096;
/// Time in milliseconds for which a coincidence is remembered.
const COINCIDENCE_MS: u64 = 3_600_000;
/// Minimum time between two verifications of a page, in milliseconds.
const VERIFICATION_MS: u64 = 10_000;
/// Minimum time between two verifications of any page, in milliseconds.
const PAUSE_MS: u64 = 100;

/// State of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeakState {
    /// The response was not stored. It is not known whether the value occurs in it by coincidence.
    Suspected,
    /// A response to a request without the value lacks the value. After two values, the page is not stored for a time.
    Confirmed,
    /// A response to a request without the value has the value too.
    Coincidence,
}

impl LeakState {
    /// Returns the name of the state.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Suspected => "suspected",
            Self::Confirmed => "confirmed",
            Self::Coincidence => "coincidence",
        }
    }
}

/// Finding of the leak guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeakFinding {
    /// Time of the last such response, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Host and path of the page.
    pub page: String,
    /// Kind, name and place of the value; never the value.
    pub what: String,
    /// State.
    pub state: LeakState,
    /// Time until which the page is not stored, in milliseconds since the epoch; 0 if it is not quarantined.
    pub until_ms: u64,
    /// Number of such responses.
    pub count: u64,
    /// Identifier of the page: the hash of its key.
    key: u64,
}

/// Results of the leak guard of a zone. All workers share them, and they survive reloads.
#[derive(Debug)]
pub struct LeakRecords {
    state: Mutex<Records>,
    hasher: RandomState,
    /// Number of quarantined pages, to avoid the lock without any.
    quarantined: AtomicUsize,
    /// Number of responses that were not shared.
    found: AtomicU64,
    /// Number of requests sent to verify findings.
    verifications: AtomicU64,
    /// Limits log messages about findings to one per second.
    pub log_limit: LogRateLimit,
}

#[derive(Debug)]
struct Records {
    findings: VecDeque<LeakFinding>,
    /// Time until which a page is not stored, by the hash of its key.
    quarantined: Lru<u64, u64>,
    /// Hash of the value whose leak was confirmed first, by the hash of the page's key.
    confirmed: Lru<u64, u64>,
    /// Time until which a value counts as public, by its hash.
    coincidences: Lru<u64, u64>,
    /// Time of the last verification of a page, by the hash of its key.
    verified: Lru<u64, u64>,
    last_verification: u64,
}

impl Default for LeakRecords {
    fn default() -> Self {
        let records = Records {
            findings: VecDeque::new(),
            quarantined: Lru::new(MAX_REMEMBERED),
            confirmed: Lru::new(MAX_REMEMBERED),
            coincidences: Lru::new(MAX_REMEMBERED),
            verified: Lru::new(MAX_REMEMBERED),
            last_verification: 0,
        };
        Self {
            state: Mutex::new(records),
            hasher: RandomState::new(),
            quarantined: AtomicUsize::new(0),
            found: AtomicU64::new(0),
            verifications: AtomicU64::new(0),
            log_limit: LogRateLimit::default(),
        }
    }
}

impl LeakRecords {
    /// Records a response with data of a visitor. `page` is its host and path, `what` the kind, name and place of the data.
    pub fn add(&self, key: &[u8], page: &str, what: &str, now: u64) {
        self.found.fetch_add(1, Relaxed);
        let key = self.hasher.hash_one(key);
        let mut state = self.state.lock();
        if let Some(known) = state.findings.iter_mut().find(|known| known.key == key && known.what == what) {
            known.at_ms = now;
            known.count += 1;
            return;
        }
        if state.findings.len() >= MAX_FINDINGS {
            state.findings.pop_front();
        }
        let (page, what) = (page.to_owned(), what.to_owned());
        let finding =
            LeakFinding { at_ms: now, page, what, state: LeakState::Suspected, until_ms: 0, count: 1, key };
        state.findings.push_back(finding);
    }

    /// Returns true if a request may be sent now to verify the findings of a page: at most one in ten seconds for a page,
    /// and ten per second for the zone.
    pub fn begin_verification(&self, key: &[u8], now: u64) -> bool {
        let key = self.hasher.hash_one(key);
        let mut state = self.state.lock();
        let is_recent = |last: u64, pause: u64| now < last.saturating_add(pause);
        if state.verified.get(&key).is_some_and(|last| is_recent(*last, VERIFICATION_MS))
            || is_recent(state.last_verification, PAUSE_MS)
        {
            return false;
        }
        state.last_verification = now;
        state.verified.insert(key, now, 1);
        self.verifications.fetch_add(1, Relaxed);
        true
    }

    /// Records that the leak of `value` in a page is confirmed. The second time, with another value, the page is not stored
    /// until `until`, in milliseconds since the epoch, and the method returns true. A single client that sends text of a page
    /// which changes at each response cannot cause this with one value.
    pub fn confirm(&self, key: &[u8], value: &[u8], until: u64) -> bool {
        let (key, value) = (self.hasher.hash_one(key), self.hasher.hash_one(value));
        let mut state = self.state.lock();
        let first = state.confirmed.get(&key).copied();
        let is_quarantined = first.is_some_and(|first| first != value);
        if is_quarantined {
            state.quarantined.insert(key, until, 1);
        } else {
            state.confirmed.insert(key, value, 1);
        }
        for finding in state.findings.iter_mut().filter(|known| known.key == key) {
            finding.state = LeakState::Confirmed;
            finding.until_ms = if is_quarantined { until } else { finding.until_ms };
        }
        self.quarantined.store(state.quarantined.len(), Relaxed);
        is_quarantined
    }

    /// Records that `value` occurs in the page by coincidence. It is not searched for in the next hour.
    pub fn excuse(&self, key: &[u8], value: &[u8], now: u64) {
        let (key, value) = (self.hasher.hash_one(key), self.hasher.hash_one(value));
        let mut state = self.state.lock();
        state.coincidences.insert(value, now.saturating_add(COINCIDENCE_MS), 1);
        for finding in state.findings.iter_mut().filter(|known| known.key == key) {
            finding.state = LeakState::Coincidence;
        }
    }

    /// Returns true if a value occurs in pages by coincidence.
    pub fn is_coincidence(&self, value: &[u8], now: u64) -> bool {
        let value = self.hasher.hash_one(value);
        self.state.lock().coincidences.get(&value).is_some_and(|until| now < *until)
    }

    /// Returns true if a page is not stored at present, because a finding was confirmed.
    pub fn is_quarantined(&self, key: &[u8], now: u64) -> bool {
        self.quarantined.load(Relaxed) > 0 && {
            let key = self.hasher.hash_one(key);
            let mut state = self.state.lock();
            let until = state.quarantined.get(&key).copied();
            if until.is_some_and(|until| until <= now) {
                state.quarantined.remove(&key);
                self.quarantined.store(state.quarantined.len(), Relaxed);
            }
            until.is_some_and(|until| now < until)
        }
    }

    /// Forgets the findings of the pages whose host and path are `page`, so that these pages can be stored again; all
    /// findings if it is `None`. Returns the number of findings.
    pub fn forgive(&self, page: Option<&str>) -> usize {
        let mut state = self.state.lock();
        let Records { findings, quarantined, confirmed, .. } = &mut *state;
        let before = findings.len();
        findings.retain(|finding| {
            let is_forgiven = page.is_none_or(|page| finding.page == page);
            if is_forgiven {
                quarantined.remove(&finding.key);
                confirmed.remove(&finding.key);
            }
            !is_forgiven
        });
        if page.is_none() {
            quarantined.clear();
            confirmed.clear();
        }
        self.quarantined.store(state.quarantined.len(), Relaxed);
        before - state.findings.len()
    }

    /// Returns the findings, latest first.
    pub fn findings(&self) -> Vec<LeakFinding> {
        let mut findings: Vec<LeakFinding> = self.state.lock().findings.iter().cloned().collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.at_ms));
        findings
    }

    /// Returns the number of responses that were not shared because of data of a visitor.
    pub fn found(&self) -> u64 {
        self.found.load(Relaxed)
    }

    /// Returns the number of requests sent to verify findings.
    pub fn verifications(&self) -> u64 {
        self.verifications.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confirmed_page_is_not_stored_until_the_time_is_over_or_it_is_forgiven() {
        let records = LeakRecords::default();
        records.add(b"/a", "localhost/a", "cookie", 10);
        records.add(b"/a", "localhost/a", "cookie", 20);
        records.add(b"/b", "localhost/b", "cookie", 30);
        assert!(!records.is_quarantined(b"/a", 40));
        assert!(!records.confirm(b"/a", b"Margarete", 100) && !records.confirm(b"/a", b"Margarete", 100));
        assert!(!records.is_quarantined(b"/a", 99), "one value");
        assert!(records.confirm(b"/a", b"Wilhelmine", 100));
        assert!(records.is_quarantined(b"/a", 99) && !records.is_quarantined(b"/b", 99));
        assert!(!records.is_quarantined(b"/a", 100));
        assert!(records.confirm(b"/a", b"Wilhelmine", 200));
        let states: Vec<_> = records.findings().iter().map(|found| (found.state, found.count)).collect();
        assert_eq!(states, [(LeakState::Suspected, 1), (LeakState::Confirmed, 2)]);
        assert_eq!(records.forgive(Some("localhost/a")), 1);
        assert!(!records.is_quarantined(b"/a", 150));
        assert_eq!((records.findings().len(), records.forgive(None), records.found()), (1, 1, 3));
    }

    #[test]
    fn coincidences_are_forgotten_after_an_hour() {
        let records = LeakRecords::default();
        records.add(b"/a", "localhost/a", "cookie", 10);
        records.excuse(b"/a", b"Margarete", 10);
        assert!(
            records.is_coincidence(b"Margarete", 3_600_009)
                && !records.is_coincidence(b"Margarete", 3_600_010)
        );
        assert!(!records.is_coincidence(b"Ann", 20));
        assert_eq!(records.findings()[0].state, LeakState::Coincidence);
    }

    #[test]
    fn verifications_are_limited_for_a_page_and_for_the_zone() {
        let records = LeakRecords::default();
        let allowed = [(b"/a", 1000), (b"/b", 1099), (b"/b", 1100), (b"/a", 10_999), (b"/a", 11_000)];
        assert_eq!(
            allowed.map(|(key, now)| records.begin_verification(key, now)),
            [true, false, true, false, true]
        );
        assert_eq!(records.verifications(), 3);
    }

    #[test]
    fn findings_are_bounded() {
        let records = LeakRecords::default();
        for number in 0..400 {
            records.add(format!("/{number}").as_bytes(), "page", "cookie", number);
        }
        assert_eq!((records.findings().len(), records.findings()[0].at_ms), (MAX_FINDINGS, 399));
    }
}
