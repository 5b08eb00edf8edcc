//! Records of a zone's leak guard: pages that are not stored, and values that occur in pages by coincidence.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use myriad_base::bounded::Lru;
use myriad_log::LogRateLimit;
use parking_lot::Mutex;

use super::clients::{ClientEffect, ClientLimits, ClientNetwork, network_of};
use super::findings::{FindingId, Findings, LeakFinding, LeakState};
use crate::page::key::CODINGS;

/// Maximum number of quarantined pages, of pages with a confirmed value, of coincidences, and of verified pages and
/// values; those recorded least recently are dropped.
const MAX_REMEMBERED: u64 = 4096;
/// Time in milliseconds for which a coincidence is remembered.
const COINCIDENCE_MS: u64 = 3_600_000;
/// Minimum time between two verifications of a value in a page, in milliseconds.
const SAME_VALUE_PAUSE_MS: u64 = 10_000;
/// Minimum time between two verifications of a page, in milliseconds.
const SAME_PAGE_PAUSE_MS: u64 = 1_000;
/// Minimum time between two verifications of any page, in milliseconds.
const PAUSE_MS: u64 = 100;

/// Page in which the leak guard searches.
#[derive(Clone, Copy, Debug)]
pub struct LeakedPage<'a> {
    /// Cache key of the page. The key for other content codings and the shared key count as the same page.
    pub key: &'a [u8],
    /// Label (hash) of the URL with its query. Pages with the same URL and another key are quarantined together.
    pub url: u64,
}

/// Value of a visitor in a page.
#[derive(Clone, Copy, Debug)]
pub struct LeakedValue<'a> {
    /// Page that contains the value.
    pub page: LeakedPage<'a>,
    /// Value; empty if HTML of the page shows that it was made for a logged-in visitor.
    pub value: &'a [u8],
    /// Kind of the value, in words.
    pub kind: &'static str,
    /// Kind, name and place of the value; never the value.
    pub what: &'a str,
    /// Address of the client that sent the value; `None` if it is unknown.
    pub client: Option<IpAddr>,
}

/// Results of the leak guard of a zone. All workers share them, and they survive reloads.
#[derive(Debug)]
pub struct LeakRecords {
    state: Mutex<Records>,
    hasher: RandomState,
    /// Number of quarantined keys and URLs. While it is 0, no lock is taken.
    quarantined: AtomicUsize,
    /// Number of calls of [`Self::add`] and [`Self::add_sampled`]: times that data of a visitor, or dependence on an
    /// input that is not in the key, was found.
    found: AtomicU64,
    /// Number of requests sent to verify findings.
    verifications: AtomicU64,
    /// Number of responses that were not shared because they could not be searched.
    unsearched: AtomicU64,
    /// Limits log messages about findings to one per second.
    pub log_limit: LogRateLimit,
}

#[derive(Debug)]
struct Records {
    findings: Findings,
    /// Time until which a page is not stored, in milliseconds of the process clock, by the hash of its key and that of
    /// its URL.
    quarantined: Lru<u64, u64>,
    /// Value whose leak was confirmed first, by the hash of the page's key.
    confirmed: Lru<u64, ConfirmedValue>,
    /// Time until which a value counts as a coincidence in its page, in milliseconds of the process clock, by the hash
    /// of page, kind and value.
    coincidences: Lru<u64, u64>,
    /// Time of the last verification, in milliseconds of the process clock, by the hash of a page's key, and that of a
    /// value.
    verified: Lru<u64, u64>,
    last_verification: u64,
    clients: ClientLimits,
}

/// Value whose leak was confirmed.
#[derive(Clone, Copy, Debug)]
struct ConfirmedValue {
    /// Hash of the value.
    value: u64,
    /// Client that sent the value.
    client: ClientNetwork,
}

impl Default for LeakRecords {
    fn default() -> Self {
        let records = Records {
            findings: Findings::default(),
            quarantined: Lru::new(2 * MAX_REMEMBERED),
            confirmed: Lru::new(MAX_REMEMBERED),
            coincidences: Lru::new(MAX_REMEMBERED),
            verified: Lru::new(MAX_REMEMBERED),
            last_verification: 0,
            clients: ClientLimits::default(),
        };
        Self {
            state: Mutex::new(records),
            hasher: RandomState::new(),
            quarantined: AtomicUsize::new(0),
            found: AtomicU64::new(0),
            verifications: AtomicU64::new(0),
            unsearched: AtomicU64::new(0),
            log_limit: LogRateLimit::default(),
        }
    }
}

impl LeakRecords {
    /// Records a response with a value of a visitor. `page` is the host and path of the response.
    pub fn add(&self, leak: &LeakedValue<'_>, page: &str, now: u64) {
        self.found.fetch_add(1, Relaxed);
        self.state.lock().findings.add(self.id(leak), page, now);
    }

    /// Records that a sampled verification found an input that changes a page, and the difference, with shortened words.
    /// `is_shared` is true if the page remains shared. See [`Self::add`] for the other arguments.
    pub fn add_sampled(
        &self,
        leak: &LeakedValue<'_>,
        page: &str,
        difference: &str,
        is_shared: bool,
        now: u64,
    ) {
        self.found.fetch_add(1, Relaxed);
        let id = self.id(leak);
        let mut state = self.state.lock();
        state.findings.add(id, page, now);
        state.findings.set_difference(id, difference);
        if is_shared {
            state.findings.set_state(id, LeakState::Unkeyed);
        }
    }

    /// Returns true if this value may cause hit-for-miss for its page: for some seconds, requests for the page do not
    /// wait for each other. Always true if [`Self::confirm`] has counted a leak in the page; otherwise true for at most
    /// 16 calls for a client in an hour.
    pub fn may_pass(&self, leak: &LeakedValue<'_>, now: u64) -> bool {
        let key = self.key(&leak.page);
        let mut state = self.state.lock();
        state.confirmed.get(&key).is_some()
            || state.clients.admit(network_of(leak.client), ClientEffect::HitForMiss, now)
    }

    /// Counts a hit that would cause the verification of a page. Returns true if the hit may cause it, and false if 128
    /// hits of the client have been counted in an hour.
    pub fn admits_sample(&self, client: Option<IpAddr>, now: u64) -> bool {
        self.state.lock().clients.admit(network_of(client), ClientEffect::Sample, now)
    }

    /// Returns true, and records the verification, if a request may be sent now to verify a value: at most one in ten
    /// seconds for a value in a page, one per second for a page, ten per second for the zone, and 32 in an hour for a
    /// client.
    pub fn begin_verification(&self, leak: &LeakedValue<'_>, now: u64) -> bool {
        let (page, value) = (self.key(&leak.page), self.value(leak));
        let mut state = self.state.lock();
        let is_recent = |last: u64, pause: u64| now < last.saturating_add(pause);
        let was_verified =
            |name: u64, pause: u64| state.verified.get(&name).is_some_and(|last| is_recent(*last, pause));
        if is_recent(state.last_verification, PAUSE_MS)
            || was_verified(page, SAME_PAGE_PAUSE_MS)
            || was_verified(value, SAME_VALUE_PAUSE_MS)
            || !state.clients.admit(network_of(leak.client), ClientEffect::Verification, now)
        {
            return false;
        }
        state.last_verification = now;
        state.verified.insert(page, now, 1);
        state.verified.insert(value, now, 1);
        true
    }

    /// Counts a request that verifies a value, when it is sent.
    pub fn count_verification(&self) {
        self.verifications.fetch_add(1, Relaxed);
    }

    /// Sets the state of a finding to [`LeakState::Unverified`], because the verification of its value had no usable
    /// result.
    pub fn set_unverified(&self, leak: &LeakedValue<'_>) {
        self.state.lock().findings.set_state(self.id(leak), LeakState::Unverified);
    }

    /// Records that the leak of a value in a page is confirmed. Once different values of two clients are confirmed, the
    /// page is not stored until `until`, in milliseconds of the process clock, and the method returns true. A single
    /// client that sends text of a page which changes at each response cannot cause this, and several can only for four
    /// pages each in an hour. Leaks without a value (HTML for a logged-in visitor) do not count.
    pub fn confirm(&self, leak: &LeakedValue<'_>, now: u64, until: u64) -> bool {
        let id = self.id(leak);
        let client = network_of(leak.client);
        let mut state = self.state.lock();
        state.findings.set_state(id, LeakState::Confirmed);
        let first = state.confirmed.get(&id.names[0]).copied();
        if leak.value.is_empty()
            || first.is_some_and(|first| first.value == id.value || first.client == client)
            || !state.clients.admit(client, ClientEffect::Confirmation, now)
        {
            return false;
        }
        if first.is_none() {
            state.confirmed.insert(id.names[0], ConfirmedValue { value: id.value, client }, 1);
            return false;
        }
        self.quarantine(&mut state, id.names, until);
        true
    }

    /// Records that requests of the server itself confirmed a leak. The page is not stored until `until`, in milliseconds of
    /// the process clock.
    pub fn confirm_alone(&self, leak: &LeakedValue<'_>, until: u64) {
        let id = self.id(leak);
        let mut state = self.state.lock();
        state.findings.set_state(id, LeakState::Confirmed);
        self.quarantine(&mut state, id.names, until);
    }

    fn quarantine(&self, state: &mut Records, names: [u64; 2], until: u64) {
        for name in names {
            state.quarantined.insert(name, until, 1);
        }
        state.findings.set_quarantine(names, until);
        self.quarantined.store(state.quarantined.len(), Relaxed);
    }

    /// Records that a value occurs in the page by coincidence. It is not searched for in this page in the next hour.
    pub fn excuse(&self, leak: &LeakedValue<'_>, now: u64) {
        let id = self.id(leak);
        let mut state = self.state.lock();
        state.coincidences.insert(id.value, now.saturating_add(COINCIDENCE_MS), 1);
        state.findings.set_state(id, LeakState::Coincidence);
    }

    /// Returns true if [`Self::excuse`] has recorded in the last hour that a value of a kind (in words) occurs in a
    /// page by coincidence.
    pub fn is_coincidence(&self, page: &LeakedPage<'_>, kind: &str, value: &[u8], now: u64) -> bool {
        let value = self.value_in(page, kind, value);
        self.state.lock().coincidences.get(&value).is_some_and(|until| now < *until)
    }

    /// Returns true if a page, or another with the same URL, is not stored at present, because leaks were confirmed.
    pub fn is_quarantined(&self, page: &LeakedPage<'_>, now: u64) -> bool {
        self.quarantined.load(Relaxed) > 0 && {
            let mut state = self.state.lock();
            let is_quarantined = self.names(page).into_iter().any(|name| {
                let until = state.quarantined.get(&name).copied();
                if until.is_some_and(|until| until <= now) {
                    state.quarantined.remove(&name);
                }
                until.is_some_and(|until| now < until)
            });
            self.quarantined.store(state.quarantined.len(), Relaxed);
            is_quarantined
        }
    }

    /// Forgets the findings of the pages whose host and path are `page`, so that these pages can be stored again; all
    /// findings if it is `None`. Coincidences remain known. Returns the number of findings.
    pub fn forgive(&self, page: Option<&str>) -> usize {
        let mut state = self.state.lock();
        let forgiven = state.findings.take(page);
        for finding in &forgiven {
            state.confirmed.remove(&finding.names[0]);
            for name in finding.names {
                state.quarantined.remove(&name);
            }
        }
        if page.is_none() {
            state.quarantined.clear();
            state.confirmed.clear();
        }
        self.quarantined.store(state.quarantined.len(), Relaxed);
        forgiven.len()
    }

    /// Returns the findings, latest first.
    pub fn findings(&self) -> Vec<LeakFinding> {
        self.state.lock().findings.list()
    }

    /// Returns the number of changes of findings so far, and the findings whose last change has a number above
    /// `change`. A change is that a finding was added, got another state, or its page was quarantined.
    pub fn findings_changed_after(&self, change: u64) -> (u64, Vec<LeakFinding>) {
        self.state.lock().findings.changed_after(change)
    }

    /// Returns how often data of a visitor, or dependence of a page on an input that is not in its key, was found.
    pub fn found(&self) -> u64 {
        self.found.load(Relaxed)
    }

    /// Returns the number of requests sent to verify findings.
    pub fn verifications(&self) -> u64 {
        self.verifications.load(Relaxed)
    }

    /// Counts a response that is not shared because it could not be searched.
    pub fn count_unsearched(&self) {
        self.unsearched.fetch_add(1, Relaxed);
    }

    /// Returns the number of responses that were not shared because they could not be searched.
    pub fn unsearched(&self) -> u64 {
        self.unsearched.load(Relaxed)
    }

    fn id<'a>(&self, leak: &LeakedValue<'a>) -> FindingId<'a> {
        FindingId { names: self.names(&leak.page), value: self.value(leak), what: leak.what }
    }

    /// Returns the hashes of a page's key and URL.
    fn names(&self, page: &LeakedPage<'_>) -> [u64; 2] {
        [self.key(page), self.hasher.hash_one((b"url", page.url))]
    }

    fn key(&self, page: &LeakedPage<'_>) -> u64 {
        self.hasher.hash_one(page.key.strip_suffix(CODINGS).unwrap_or(page.key))
    }

    fn value(&self, leak: &LeakedValue<'_>) -> u64 {
        self.value_in(&leak.page, leak.kind, leak.value)
    }

    /// Returns the hash of a value of some kind in a page. The same value in another page or of another kind has
    /// another hash.
    fn value_in(&self, page: &LeakedPage<'_>, kind: &str, value: &[u8]) -> u64 {
        self.hasher.hash_one((self.key(page), kind, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(key: &str) -> LeakedPage<'_> {
        LeakedPage { key: key.as_bytes(), url: key.len() as u64 }
    }

    /// Returns a value of the client 192.0.2.N in a page.
    fn leak<'a>(key: &'a str, value: &'a str, client: u8) -> LeakedValue<'a> {
        let client = Some(IpAddr::from([192, 0, 2, client]));
        LeakedValue { page: page(key), value: value.as_bytes(), kind: "cookie", what: "cookie", client }
    }

    #[test]
    fn confirmed_page_is_not_stored_until_the_time_is_over_or_it_is_forgiven() {
        let records = LeakRecords::default();
        let (margarete, wilhelmine) = (leak("/a", "Margarete", 1), leak("/a", "Wilhelmine", 2));
        records.add(&margarete, "localhost/a", 10);
        records.add(&wilhelmine, "localhost/a", 20);
        records.add(&leak("/bb", "Margarete", 1), "localhost/bb", 30);
        assert!(!records.is_quarantined(&page("/a"), 40));
        assert!(!records.confirm(&margarete, 40, 100) && !records.confirm(&margarete, 40, 100));
        assert!(!records.is_quarantined(&page("/a"), 99), "one value");
        assert!(records.confirm(&wilhelmine, 40, 100));
        assert!(records.is_quarantined(&page("/a"), 99) && !records.is_quarantined(&page("/bb"), 99));
        assert!(!records.is_quarantined(&page("/a"), 100));
        assert!(records.confirm(&wilhelmine, 110, 200));
        let states: Vec<_> = records.findings().iter().map(|found| (found.state, found.until_ms)).collect();
        assert_eq!(states, [(LeakState::Suspected, 0), (LeakState::Confirmed, 200)]);
        assert_eq!(records.forgive(Some("localhost/a")), 1);
        assert!(!records.is_quarantined(&page("/a"), 150));
        assert_eq!((records.findings().len(), records.forgive(None), records.found()), (1, 1, 3));
    }

    #[test]
    fn page_is_quarantined_under_all_its_keys() {
        let records = LeakRecords::default();
        let (one, other) = (leak("/a", "Margarete", 1), leak("/a\0codings", "Wilhelmine", 2));
        assert!(!records.confirm(&one, 0, 100) && records.confirm(&other, 0, 100));
        for (key, url, expected) in [
            ("/a", 0, true),
            ("/a\0codings", 0, true),
            ("/a\0cookie=currency=EUR", other.page.url, true),
            ("/a\0cookie=currency=EUR", 0, false),
        ] {
            let page = LeakedPage { key: key.as_bytes(), url };
            assert_eq!(records.is_quarantined(&page, 50), expected, "{key} {url}");
        }
    }

    #[test]
    fn quarantine_needs_two_clients_and_each_confirms_few_pages() {
        let records = LeakRecords::default();
        let pages = ["/a", "/bb", "/ccc", "/dddd", "/eeeee"];
        for name in pages {
            let values = [leak(name, "one product", 1), leak(name, "another one", 1)];
            assert!(values.iter().all(|value| !records.confirm(value, 0, 100)), "one client");
        }
        let quarantined = pages.map(|name| records.confirm(&leak(name, "another one", 2), 0, 100));
        assert_eq!(quarantined, [true, true, true, true, false]);
        let sign = leak("/f", "", 1);
        assert!(!records.confirm(&sign, 0, 100));
        assert!(
            !records.confirm(&LeakedValue { kind: "sign", ..leak("/f", "", 3) }, 0, 100),
            "signs have no value"
        );
    }

    #[test]
    fn coincidences_are_of_one_page_and_forgotten_after_an_hour() {
        let records = LeakRecords::default();
        let found = leak("/a", "Margarete", 1);
        records.add(&found, "localhost/a", 10);
        records.excuse(&found, 10);
        let is_coincidence =
            |key, kind, value: &str, now| records.is_coincidence(&page(key), kind, value.as_bytes(), now);
        assert!(is_coincidence("/a", "cookie", "Margarete", 3_600_009));
        assert!(is_coincidence("/a\0codings", "cookie", "Margarete", 20));
        for (key, kind, value, now) in [
            ("/a", "cookie", "Margarete", 3_600_010),
            ("/b", "cookie", "Margarete", 20),
            ("/a", "browser", "Margarete", 20),
            ("/a", "cookie", "Ann", 20),
        ] {
            assert!(!is_coincidence(key, kind, value, now), "{key} {kind} {value} {now}");
        }
        assert_eq!(records.findings()[0].state, LeakState::Coincidence);
    }

    #[test]
    fn verifications_are_limited_for_a_value_a_page_and_the_zone() {
        let records = LeakRecords::default();
        for (key, value, now, expected) in [
            ("/a", "Margarete", 1000, true),
            ("/b", "Margarete", 1099, false),
            ("/b", "Margarete", 1100, true),
            ("/a", "Wilhelmine", 1999, false),
            ("/a", "Wilhelmine", 2000, true),
            ("/a", "Margarete", 10_999, false),
            ("/a", "Margarete", 11_000, true),
        ] {
            assert_eq!(
                records.begin_verification(&leak(key, value, 1), now),
                expected,
                "{key} {value} {now}"
            );
        }
        assert_eq!(records.verifications(), 0, "none was sent");
    }

    #[test]
    fn client_that_copies_text_of_pages_has_a_limited_effect() {
        let records = LeakRecords::default();
        let pages: Vec<String> = (0..100).map(|number| format!("/{number}")).collect();
        let attempt = |client| {
            let admitted = pages.iter().enumerate().map(|(number, page)| {
                let (leak, now) = (leak(page, "text of the page", client), 1000 * number as u64);
                (records.may_pass(&leak, now), records.begin_verification(&leak, now))
            });
            let admitted: Vec<_> = admitted.collect();
            let count = |which: fn(&(bool, bool)) -> bool| admitted.iter().filter(|one| which(one)).count();
            (count(|one| one.0), count(|one| one.1))
        };
        assert_eq!(attempt(1), (16, 32));
        let confirmed = leak("/99", "Margarete", 2);
        assert!(!records.confirm(&confirmed, 0, 100));
        assert!(records.may_pass(&leak("/99", "text of the page", 1), 0), "the page has a confirmed leak");
    }
}
