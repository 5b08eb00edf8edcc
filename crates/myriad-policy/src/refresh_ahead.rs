//! Decides which stored pages are refreshed without a request: pages that were requested often enough lately, when they
//! have expired or are about to, so that the next visitor finds a fresh page.

use std::collections::HashMap;

use crate::page_history::AFTER_PURGE_MS;
use crate::{Lifetime, ValiditySource};

/// Time after which a request counts half, in ms.
const HALF_LIFE_MS: f64 = 900_000.0;
/// Minimum expected number of requests while the refreshed page is valid.
const MIN_EXPECTED: f64 = 0.2;
/// Minimum validity of a page that is refreshed, in ms.
const SHORTEST_MS: u64 = 10_000;
/// Expected validity, in ms, of the new copy of a purged page, whose validity is unknown; also the minimum expected for
/// a page with an adaptive validity.
const UNKNOWN_VALID_MS: u64 = 60_000;
/// Longest time before its expiry at which a page with an adaptive validity is refreshed, in ms. It is at most an
/// eighth of the validity.
const LONGEST_LEAD_MS: u64 = 10_000;
/// Time in ms after a refresh of a page before the next attempt, in case that the refresh failed.
const RETRY_MS: u64 = 60_000;
/// Maximum number of pages whose requests are remembered. When it is reached, at least half of the pages are forgotten,
/// those with the fewest requests.
const MAX_PAGES: usize = 8192;

/// Stored page, as an inspection of the zone finds it.
#[derive(Clone, Copy, Debug)]
pub struct InspectedPage {
    /// Number that identifies the page among all pages, such as a hash of its zone, key and variant.
    pub id: u64,
    /// Number that differs each time that the page is stored.
    pub generation: u64,
    /// Number of hits since the page was stored.
    pub hits: u32,
    /// Time when the page was stored, in ms since the epoch.
    pub stored_at: u64,
    /// Time since which the content is known to be equal, in ms since the epoch.
    pub equal_since: u64,
    /// Validity with which the page was stored.
    pub lifetime: Lifetime,
    /// True if a purge covers the page.
    pub is_purged: bool,
}

/// Record of the requests for a page.
#[derive(Clone, Copy, Debug)]
struct PageDemand {
    generation: u64,
    hits: u32,
    /// Weighted number of requests up to the time `seen_at`: a request counts half after each 15 minutes.
    requests: f64,
    seen_at: u64,
    /// True if the last inspection found the page expired or purged, and it was not refreshed since. If it is stored
    /// again, a request caused that, which is counted.
    is_expired: bool,
    /// Time when an inspection first found the page to be purged, in ms since the epoch; `None` if it is not purged.
    purged_at: Option<u64>,
    /// Earliest time of the next refresh, in ms since the epoch.
    not_before: u64,
}

/// Memory of the requests for pages, from which refreshes without a request are planned. Its size is bounded.
#[derive(Debug, Default)]
pub struct RefreshAhead {
    pages: HashMap<u64, PageDemand>,
}

impl RefreshAhead {
    /// Records the requests for a page that an inspection found at `now`. Returns the expected number of requests
    /// during the validity of the refreshed page if the page should be refreshed now. Returns `None` if the page is not
    /// due, or if fewer than 0.2 requests are expected. Returns `None` and records nothing if the validity of the page
    /// is shorter than 10 s or not from the response, or if the page has no hits and no record yet.
    ///
    /// Pages with an adaptive validity are refreshed shortly before they expire; with a validity that the origin has
    /// set, only afterwards, because it may be the time of a change. A purged page is refreshed ten seconds after an
    /// inspection first found the purge: a copy that is fetched earlier is valid for ten seconds only. After a refresh
    /// ([`Self::note_refresh`]), the same stored page is not due for a minute.
    pub fn inspect(&mut self, page: &InspectedPage, now: u64) -> Option<f64> {
        if page.lifetime.valid_ms < SHORTEST_MS || !page.lifetime.source.is_from_response() {
            return None;
        }
        if page.hits == 0 && !self.pages.contains_key(&page.id) {
            return None;
        }
        if self.pages.len() >= MAX_PAGES {
            self.forget_half();
        }
        let demand = self.pages.entry(page.id).or_insert_with(|| PageDemand::new(page, now));
        demand.count(page, now);
        let due_at = match demand.purged_at {
            Some(since) => since.saturating_add(AFTER_PURGE_MS),
            None => page.lifetime.fresh_until.saturating_sub(lead_ms(&page.lifetime)),
        };
        let expected =
            demand.requests / HALF_LIFE_MS * std::f64::consts::LN_2 * expected_ms(page, now) as f64;
        (now >= due_at.max(demand.not_before) && expected >= MIN_EXPECTED).then_some(expected)
    }

    /// Records that the page `id` was fetched without a request, successfully or not: it is not due for a minute,
    /// unless it is stored again. Does nothing for a page without a record.
    pub fn note_refresh(&mut self, id: u64, now: u64) {
        if let Some(demand) = self.pages.get_mut(&id) {
            demand.is_expired = false;
            demand.purged_at = None;
            demand.not_before = now.saturating_add(RETRY_MS);
        }
    }

    fn forget_half(&mut self) {
        let mut counts: Vec<f64> = self.pages.values().map(|demand| demand.requests).collect();
        let middle = counts.len() / 2;
        let (_, median, _) = counts.select_nth_unstable_by(middle, f64::total_cmp);
        let median = *median;
        self.pages.retain(|_, demand| demand.requests > median);
    }
}

impl PageDemand {
    /// Returns the record of a page that has hits but no record yet. Counts its hits and the request that stored it;
    /// for a page stored more than 15 minutes ago, only the part of them that corresponds to 15 minutes.
    fn new(page: &InspectedPage, now: u64) -> Self {
        let age = now.saturating_sub(page.stored_at) as f64;
        let part = (HALF_LIFE_MS / age.max(1.0)).min(1.0);
        Self {
            generation: page.generation,
            hits: page.hits,
            requests: (f64::from(page.hits) + 1.0) * part,
            seen_at: now,
            is_expired: false,
            purged_at: None,
            not_before: 0,
        }
    }

    fn count(&mut self, page: &InspectedPage, now: u64) {
        let elapsed = now.saturating_sub(self.seen_at) as f64;
        let news = if page.generation == self.generation {
            page.hits.saturating_sub(self.hits)
        } else {
            self.not_before = 0;
            page.hits.saturating_add(u32::from(self.is_expired))
        };
        self.requests = self.requests * 0.5_f64.powf(elapsed / HALF_LIFE_MS) + f64::from(news);
        (self.generation, self.hits, self.seen_at) = (page.generation, page.hits, now);
        self.is_expired = page.is_purged || now >= page.lifetime.fresh_until;
        self.purged_at = if page.is_purged { self.purged_at.or(Some(now)) } else { None };
    }
}

/// Returns how long before its expiry a page is refreshed, in ms: for an adaptive validity an eighth of it, at most 10
/// s; 0 for any other validity.
fn lead_ms(lifetime: &Lifetime) -> u64 {
    match lifetime.source {
        ValiditySource::Adaptive => (lifetime.valid_ms / 8).min(LONGEST_LEAD_MS),
        _ => 0,
    }
}

/// Returns the validity that the refreshed page is expected to have, in ms; one minute for a purged page, and at least
/// one minute for an adaptive validity.
fn expected_ms(page: &InspectedPage, now: u64) -> u64 {
    let valid_ms = page.lifetime.valid_ms;
    match page.lifetime.source {
        _ if page.is_purged => UNKNOWN_VALID_MS,
        ValiditySource::Adaptive => {
            let half = now.saturating_sub(page.equal_since) / 2;
            half.min(valid_ms.saturating_mul(2)).max(valid_ms).max(UNKNOWN_VALID_MS)
        }
        _ => valid_ms,
    }
}

#[cfg(test)]
mod simulation;

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000_000_000;
    const MINUTE: u64 = 60_000;

    fn page(hits: u32) -> InspectedPage {
        let lifetime = Lifetime {
            fresh_until: NOW + MINUTE,
            stale_updating_until: NOW + MINUTE,
            stale_error_until: NOW + MINUTE,
            must_revalidate: false,
            valid_ms: MINUTE,
            source: ValiditySource::Adaptive,
            born: None,
        };
        InspectedPage {
            id: 1,
            generation: 1,
            hits,
            stored_at: NOW,
            equal_since: NOW,
            lifetime,
            is_purged: false,
        }
    }

    #[test]
    fn requested_page_is_due_shortly_before_its_expiry() {
        let mut plan = RefreshAhead::default();
        assert_eq!(plan.inspect(&page(8), NOW + 52_000), None);
        assert!(plan.inspect(&page(8), NOW + 52_500).is_some());
        assert!(plan.inspect(&page(8), NOW + 5 * MINUTE).is_some(), "expired");
        assert_eq!(RefreshAhead::default().inspect(&page(0), NOW + MINUTE), None, "no hit");
        assert_eq!(RefreshAhead::default().inspect(&page(1), NOW + MINUTE), None, "requested twice only");
        assert_eq!(plan.inspect(&page(8), NOW + 120 * MINUTE), None, "no request for two hours");
    }

    #[test]
    fn validity_of_the_origin_is_not_shortened() {
        let mut of_origin = page(8);
        of_origin.lifetime.source = ValiditySource::XAccelExpires;
        let mut plan = RefreshAhead::default();
        assert_eq!(plan.inspect(&of_origin, NOW + MINUTE - 1), None);
        assert!(plan.inspect(&of_origin, NOW + MINUTE).is_some());
        of_origin.lifetime.source = ValiditySource::CacheValid;
        assert_eq!(plan.inspect(&of_origin, NOW + MINUTE), None);
        let mut short = page(100);
        short.lifetime.valid_ms = SHORTEST_MS - 1;
        assert_eq!(plan.inspect(&short, NOW + 2 * MINUTE), None);
    }

    #[test]
    fn purged_page_is_due_ten_seconds_later() {
        let mut plan = RefreshAhead::default();
        assert_eq!(plan.inspect(&page(8), NOW + 1000), None);
        let purged = InspectedPage { is_purged: true, ..page(8) };
        assert_eq!(plan.inspect(&purged, NOW + 2000), None);
        assert_eq!(plan.inspect(&purged, NOW + 11_999), None);
        assert!(plan.inspect(&purged, NOW + 12_000).is_some());
    }

    #[test]
    fn failed_refresh_is_repeated_after_a_minute_and_own_refreshes_are_no_requests() {
        let mut plan = RefreshAhead::default();
        let expected = plan.inspect(&page(8), NOW + MINUTE).unwrap();
        plan.note_refresh(1, NOW + MINUTE);
        assert_eq!(plan.inspect(&page(8), NOW + 2 * MINUTE - 1), None);
        let again = plan.inspect(&page(8), NOW + 2 * MINUTE).unwrap();
        assert!(again < expected);
        // A visitor replaces the expired page, which counts; a refresh does not.
        let replaced = InspectedPage { generation: 2, ..page(0) };
        let after_visit = plan.inspect(&replaced, NOW + 2 * MINUTE).unwrap();
        assert!(after_visit > again);
        plan.note_refresh(1, NOW + 2 * MINUTE);
        let replaced = InspectedPage { generation: 3, ..page(0) };
        assert_eq!(plan.inspect(&replaced, NOW + 2 * MINUTE), Some(after_visit));
    }

    #[test]
    fn number_of_pages_is_bounded_and_those_with_most_requests_remain() {
        let mut plan = RefreshAhead::default();
        plan.inspect(&page(50), NOW + 1000);
        for id in 2..100_000 {
            plan.inspect(&InspectedPage { id, ..page(4) }, NOW + 1000);
        }
        assert!(plan.pages.len() <= MAX_PAGES);
        assert!(plan.inspect(&page(50), NOW + MINUTE).is_some_and(|expected| expected > 1.0));
    }
}
