//! Adaptive validity (`*_cache_adaptive`): the longer the content of a page has been equal, the longer it is valid.

use crate::page_comparison::{Difference, Noise};
use crate::{Lifetime, ValiditySource};

/// Time after a purge in which a fetched page is valid for [`AFTER_PURGE_VALID_MS`] only, in ms: a replica of the
/// database may not have the change yet.
pub const AFTER_PURGE_MS: u64 = 10_000;
/// Maximum validity of a page that is fetched directly after a purge, in ms.
const AFTER_PURGE_VALID_MS: u64 = 10_000;
/// Time for which the content of a page must have been equal for a validity of more than an hour, in ms.
const STABLE_MS: u64 = 24 * HOUR_MS;
const HOUR_MS: u64 = 3_600_000;
/// Minimum time in ms between the last change of a page and its last storing for a new search for noise, once its noise
/// is known. Without this, a page that changes at each refresh would always be fetched twice.
const MIN_EQUAL_MS: u64 = 1000;
/// Flag in the stored form of a page history: [`PageHistory::is_noise_known`]; the next one is
/// [`PageHistory::is_unverified`].
const NOISE_KNOWN: u8 = 1;
const UNVERIFIED: u8 = 2;

/// Result of earlier renderings of a page, stored with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageHistory {
    /// Time since which the content is known to be equal, in ms since the epoch. All renderings since then were equal,
    /// apart from noise.
    pub equal_since: u64,
    /// Places that differ at each rendering.
    pub noise: Noise,
    /// True if successive renderings were compared to find the noise.
    pub is_noise_known: bool,
    /// True if the page differs little from the page before, and is being fetched again to find out whether this is noise.
    /// Until then [`Self::equal_since`] is that of the page before, and the validity is the minimum.
    pub is_unverified: bool,
}

/// Stored page that is compared with the page that replaces it.
#[derive(Clone, Debug)]
pub struct StoredRendering<'a> {
    /// Body of the page.
    pub body: &'a [u8],
    /// Time when the page was stored, in ms since the epoch.
    pub stored_at: u64,
    /// History of the page; `None` if it has none yet.
    pub history: Option<PageHistory>,
    /// True if a purge covers the page, which announced a change.
    pub is_purged: bool,
    /// True if decimal numbers are not compared, because the page that replaces this one shows counters.
    pub ignores_numbers: bool,
}

/// Result of the comparison of renderings.
#[derive(Debug)]
pub struct RenderingComparison {
    /// History of the page that was fetched last.
    pub history: PageHistory,
    /// True if the page must be fetched again at once, to find its noise.
    pub is_checked: bool,
    /// Difference from the page before the first fetch (`rendered`) to the page that was fetched last (`stored`).
    /// `None` if the content is equal, if a further fetch is needed, or if no difference is determined: a purge
    /// announced the change, the stored page already was a change when it was stored, or the fetched pages differ
    /// from each other by more than noise.
    pub change: Option<Difference>,
}

impl RenderingComparison {
    fn of(history: PageHistory) -> Self {
        Self { history, is_checked: false, change: None }
    }
}

/// Comparison of a page with the page that replaces it, and with further fetches if they differ.
///
/// ```text
///   refresh: equal? ---------------------------------------------------------> equal_since is unchanged
///      \-> second fetch: equal to the first? -> equal to the page before? ---> equal_since is unchanged
///              \                                   \-----------------------> changed
///               \-> third fetch: places that differ in both pairs are noise -> as after the second fetch
/// ```
///
/// Two fetches would not suffice: content that changes between them would be taken for noise from then on, and its
/// changes would not be noticed.
impl StoredRendering<'_> {
    /// Compares the page with `rendered`, the page that a refresh returned at `now` (ms since the epoch). If they
    /// differ outside of the known noise, a second fetch may be needed ([`RenderingComparison::is_checked`]), but not
    /// after a purge.
    pub fn after_refresh(&self, rendered: &[u8], now: u64) -> RenderingComparison {
        let old = self.verified_history();
        if let Ok(noise) = old.noise.compare(self.body, rendered, self.ignores_numbers) {
            return RenderingComparison::of(PageHistory { noise, ..old });
        }
        let was_equal = old.equal_since.saturating_add(MIN_EQUAL_MS) < self.stored_at;
        // A change that a purge announced needs no explanation.
        let is_checked = !self.is_purged && (was_equal || !old.is_noise_known);
        // The places with noise are not those of the new content, so that they must be found again.
        let is_noise_known = old.is_noise_known && !is_checked && !self.is_purged;
        let is_unverified = is_checked && Noise::between(self.body, rendered).is_some();
        let equal_since = if is_unverified { old.equal_since } else { now };
        let history = PageHistory { is_noise_known, is_unverified, ..PageHistory::new(equal_since) };
        RenderingComparison { is_checked, ..RenderingComparison::of(history) }
    }

    /// Compares this page, which the first fetch returned, with `second`, which a second fetch returned at `now` (ms
    /// since the epoch). If both are equal, compares them with the page `before` the first fetch. If they differ by
    /// noise only, a third fetch is needed. After a purge, or if they differ too much, the content counts as changed.
    pub fn after_second_fetch(
        &self,
        before: &StoredRendering<'_>,
        second: &[u8],
        now: u64,
    ) -> RenderingComparison {
        if self.is_purged {
            // A purge announced a change between the two fetches: their differences are not only noise.
            return RenderingComparison::of(PageHistory::new(now));
        }
        match Noise::between(self.body, second) {
            Some(noise) if noise.is_empty() => self.compare_with(before, second, noise),
            Some(_) => {
                let unverified = self.history.clone().filter(|history| history.is_unverified);
                let history = unverified.unwrap_or_else(|| PageHistory::new(now));
                RenderingComparison { is_checked: true, ..RenderingComparison::of(history) }
            }
            None => RenderingComparison::of(self.changed()),
        }
    }

    /// Compares this page, which the second fetch returned, with the `first` one and with `third`, which a third fetch
    /// returned at `now` (ms since the epoch). Places that differ in both pairs are noise; outside of these, compares
    /// `third` with the page `before` the first fetch. After a purge, or if the pages differ too much or elsewhere, the
    /// content counts as changed.
    pub fn after_third_fetch(
        &self,
        (before, first): (&StoredRendering<'_>, &StoredRendering<'_>),
        third: &[u8],
        now: u64,
    ) -> RenderingComparison {
        if self.is_purged {
            return RenderingComparison::of(PageHistory::new(now));
        }
        let candidates = Noise::between(first.body, self.body);
        let (Some(candidates), Some(noise)) = (candidates, Noise::between(self.body, third)) else {
            return RenderingComparison::of(self.changed());
        };
        if candidates.compare(self.body, third, self.ignores_numbers).is_err() {
            // The content changed between these fetches.
            return RenderingComparison::of(PageHistory::new(now));
        }
        self.compare_with(before, third, noise)
    }

    /// Compares `last`, the page that was fetched last, outside of its `noise` with the page `before` all fetches.
    /// Returns the history of `last`, and the difference if its content was changed.
    fn compare_with(&self, before: &StoredRendering<'_>, last: &[u8], noise: Noise) -> RenderingComparison {
        match noise.compare(last, before.body, self.ignores_numbers) {
            Ok(_) => {
                let equal_since = before.verified_history().equal_since;
                RenderingComparison::of(PageHistory { equal_since, noise, ..self.changed() })
            }
            Err(difference) => RenderingComparison {
                change: Some(difference),
                ..RenderingComparison::of(PageHistory { noise, ..self.changed() })
            },
        }
    }

    /// Returns the history of the page, or a new one if the page has none, or if its search for noise was not completed.
    fn verified_history(&self) -> PageHistory {
        let verified = self.history.clone().filter(|history| !history.is_unverified);
        verified.unwrap_or_else(|| PageHistory::new(self.stored_at))
    }

    /// Returns a new history for content that this page is the first to show: equal since the page was stored, with the
    /// search for noise marked as completed.
    fn changed(&self) -> PageHistory {
        PageHistory { is_noise_known: true, ..PageHistory::new(self.stored_at) }
    }
}

impl PageHistory {
    /// Returns the history of a page that was first rendered, or has changed, at `now` (ms since the epoch): no noise
    /// is known.
    pub fn new(now: u64) -> Self {
        Self { equal_since: now, ..Self::default() }
    }

    /// Limits a lifetime that the origin's response defines. The new validity is half the time for which the content is
    /// known to be equal; at most an hour if the content has changed within the last day, but at least `min_ms`, which
    /// is also used while the history is unverified. If `is_after_purge` is true, it is 10 s instead. It starts at
    /// `requested_at`, the time of the request to the origin in ms since the epoch, because the page may lack changes
    /// that were made later. Shorter lifetimes, and those that the configuration or a heuristic sets, are returned
    /// unchanged.
    pub fn limit(
        &self,
        lifetime: Lifetime,
        min_ms: u64,
        requested_at: u64,
        is_after_purge: bool,
    ) -> Lifetime {
        let longest = if is_after_purge {
            AFTER_PURGE_VALID_MS
        } else {
            let equal_ms = if self.is_unverified { 0 } else { requested_at.saturating_sub(self.equal_since) };
            let most = if equal_ms < STABLE_MS { HOUR_MS } else { u64::MAX };
            (equal_ms / 2).min(most).max(min_ms)
        };
        let fresh_until = requested_at.saturating_add(longest);
        if !lifetime.source.is_from_response() || lifetime.fresh_until <= fresh_until {
            return lifetime;
        }
        Lifetime { valid_ms: longest, source: ValiditySource::Adaptive, ..lifetime.expired_by(fresh_until) }
    }

    /// Returns the history with its time moved by `ms`, for another clock.
    #[must_use]
    pub fn shifted(self, ms: i64) -> Self {
        Self { equal_since: self.equal_since.saturating_add_signed(ms), ..self }
    }

    /// Returns the form in which a history is stored: the time (little-endian), flags, and the places with noise.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.equal_since.to_le_bytes().to_vec();
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        out.push(flag(self.is_noise_known, NOISE_KNOWN) | flag(self.is_unverified, UNVERIFIED));
        self.noise.encode(&mut out);
        out
    }

    /// Returns only [`Self::equal_since`] of the form that [`PageHistory::encode`] returns; `None` for shorter bytes.
    pub fn decode_equal_since(bytes: &[u8]) -> Option<u64> {
        bytes.first_chunk().map(|time| u64::from_le_bytes(*time))
    }

    /// Parses the form that [`PageHistory::encode`] returns; `None` for other bytes.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (time, rest) = bytes.split_first_chunk()?;
        let (flags, places) = rest.split_first()?;
        Some(Self {
            equal_since: u64::from_le_bytes(*time),
            noise: Noise::decode(places)?,
            is_noise_known: flags & NOISE_KNOWN > 0,
            is_unverified: flags & UNVERIFIED > 0,
        })
    }
}

#[cfg(test)]
mod simulation;

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000_000_000;
    const MINUTE: u64 = 60_000;
    const DAY: u64 = 1440 * MINUTE;

    fn lifetime(valid_ms: u64, source: ValiditySource) -> Lifetime {
        Lifetime {
            fresh_until: NOW + valid_ms,
            stale_updating_until: NOW + valid_ms,
            stale_error_until: NOW + valid_ms,
            must_revalidate: false,
            valid_ms,
            source,
            born: None,
        }
    }

    fn valid(history: &PageHistory, lifetime: Lifetime, is_after_purge: bool) -> u64 {
        let limited = history.limit(lifetime, MINUTE, NOW, is_after_purge);
        assert_eq!(limited.fresh_until, NOW + limited.valid_ms);
        limited.valid_ms
    }

    #[test]
    fn validity_is_half_the_time_of_equal_content_within_its_bounds() {
        let day = lifetime(DAY, ValiditySource::XAccelExpires);
        let since = |ms| PageHistory::new(NOW - ms);
        assert_eq!(valid(&since(0), day, false), MINUTE);
        assert_eq!(valid(&since(10 * MINUTE), day, false), 5 * MINUTE);
        assert_eq!(valid(&since(900_000_000), day, false), DAY, "the origin's validity is the maximum");
        assert_eq!(valid(&since(20 * 60 * MINUTE), day, false), 60 * MINUTE, "changed within the last day");
        assert_eq!(valid(&since(DAY), day, false), DAY / 2);
        assert_eq!(valid(&since(10 * MINUTE), day, true), 10_000);
        let short = lifetime(30_000, ValiditySource::XAccelExpires);
        assert_eq!(since(0).limit(short, MINUTE, NOW, false), short);
        let configured = lifetime(DAY, ValiditySource::CacheValid);
        assert_eq!(since(0).limit(configured, MINUTE, NOW, true), configured);
    }

    #[test]
    fn content_that_changes_between_two_fetches_is_no_noise() {
        let page =
            |text: &str, ms: u32| format!("<p>Rendered in {ms} ms.</p><p>It is {text}.</p>").into_bytes();
        let bodies = [page("open", 1), page("open", 2), page("closed", 3), page("closed", 4)];
        let stored = |index: usize| StoredRendering {
            body: &bodies[index],
            stored_at: NOW + MINUTE * index as u64,
            history: None,
            is_purged: false,
            ignores_numbers: false,
        };
        let (before, first, second) = (stored(0), stored(1), stored(2));
        assert!(before.after_refresh(first.body, NOW).is_checked);
        assert!(first.after_second_fetch(&before, second.body, NOW).is_checked);
        let third = second.after_third_fetch((&before, &first), &bodies[3], NOW);
        assert!(third.change.is_some() && !third.is_checked);
        assert_eq!(third.history.equal_since, second.stored_at);
        let noise = third.history.noise;
        assert!(noise.compare(&bodies[3], &page("closed", 5), false).is_ok());
        assert!(noise.compare(&bodies[3], &page("open", 6), false).is_err());
    }

    #[test]
    fn time_of_equal_content_is_kept_while_noise_is_searched_for_but_does_not_count() {
        let page =
            |id: u32| format!("<p>Number {id}</p><p>The text of the page is long enough.</p>").into_bytes();
        let bodies = [page(1), page(2), page(3)];
        let stored = |index: usize, history: &PageHistory| StoredRendering {
            body: &bodies[index],
            stored_at: NOW + MINUTE * index as u64,
            history: Some(history.clone()),
            is_purged: false,
            ignores_numbers: false,
        };
        let since = PageHistory::new(NOW - 10 * MINUTE);
        let before = stored(0, &since);
        let first = before.after_refresh(&bodies[1], NOW);
        assert!(first.is_checked && first.history.is_unverified);
        assert_eq!(first.history.equal_since, since.equal_since);
        assert_eq!(valid(&first.history, lifetime(DAY, ValiditySource::XAccelExpires), false), MINUTE);
        let second = stored(1, &first.history).after_second_fetch(&before, &bodies[2], NOW);
        assert!(second.is_checked && second.history.is_unverified);
        assert_eq!(second.history.equal_since, since.equal_since);
        // A search that was not completed is no evidence of equal content.
        let again = stored(2, &second.history).after_refresh(&bodies[2], NOW);
        assert_eq!(again.history, PageHistory::new(NOW + 2 * MINUTE));
        // A page that differs as a whole is other content at once.
        let other = before.after_refresh("Something else entirely ".repeat(100).as_bytes(), NOW);
        assert!(other.is_checked && !other.history.is_unverified);
        assert_eq!(other.history.equal_since, NOW);
    }

    #[test]
    fn history_round_trips() {
        let noise = Noise::between(b"a b c d e f g 1 h", b"a b c d e f g 2 h").unwrap();
        let history = PageHistory { noise, is_noise_known: true, ..PageHistory::new(NOW) };
        assert_eq!(PageHistory::decode(&history.encode()), Some(history.clone()));
        let unverified = PageHistory { is_unverified: true, ..history.clone() };
        assert_eq!(PageHistory::decode(&unverified.encode()), Some(unverified));
        assert_eq!(PageHistory::decode(&history.encode()[..12]), None);
        assert_eq!(PageHistory::decode_equal_since(&history.encode()), Some(NOW));
        assert_eq!(PageHistory::decode_equal_since(b""), None);
        assert_eq!(history.shifted(-5).equal_since, NOW - 5);
    }
}
