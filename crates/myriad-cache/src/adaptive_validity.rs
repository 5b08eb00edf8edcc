//! Adaptive validity (`*_cache_adaptive`): limits the validity of a page to half the time for which its content is known
//! to be equal.
//!
//! A refreshed page is compared with the page that it replaces. If it differs although no purge covers it, the page is
//! fetched a second time at once, unless its noise is known and it has changed at each refresh: the differences between
//! these two renderings are noise (nonces, times, random ids), which is ignored from then on. If the page still differs
//! from the replaced one, its content was changed without a purge.
//!
//! ```text
//!   stored page -- refresh --> equal: equal_since is unchanged
//!                          \-> different --> stored, and fetched again --> noise only: equal_since is unchanged
//!                                                                     \--> changed: equal_since is the time of the
//!                                                                          first fetch; reported
//! ```

use std::borrow::Cow;
use std::ops::Range;

use myriad_log::LogLevel;
use myriad_net::clock::to_wall_ms;
use myriad_policy::{AFTER_PURGE_MS, Difference, Noise, PageHistory};
use myriad_store::page::{Page, PageMeta, PurgeLogEntry, PurgeSource, TextChange};
use myriad_store::{Body, BodyWriter, KeyRef, RemovalReason};

use crate::stale_fallback::is_covered_by_purge;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::CachePlace;

/// Minimum time in milliseconds between the last change of a page and its last storing for a new search for noise, once
/// its noise is known. Without this, a page that changes at each refresh would always be fetched twice.
const MIN_EQUAL_MS: u64 = 1000;
/// Maximum length of the text from a difference on in a report, in bytes.
const MAX_EXCERPT: usize = 80;
/// Number of bytes before a difference, and minimum number after its start, that a report contains.
const EXCERPT_CONTEXT: usize = 40;

/// Page whose refresh differed. The refreshed page is fetched again, to find out whether the difference is noise.
pub(crate) struct NoiseCheck {
    /// Page before the refresh.
    pub before: Page,
}

/// Sets the history of a page whose body is complete, and limits its lifetime accordingly. A lifetime of at most the
/// minimum needs no history, and only one that the response specifies is limited. `check` is given for the second of two
/// successive fetches. Returns the check for which the page must be fetched again, if any.
pub(crate) fn assess(
    exchange: &Exchange,
    cache: &CachePlace,
    writer: &mut BodyWriter<PageMeta>,
    meta: &mut PageMeta,
    check: Option<NoiseCheck>,
) -> Option<NoiseCheck> {
    let min_ms = cache.rules.adaptive_min_ms?;
    let lifetime = meta.facts.lifetime();
    if !lifetime.source.is_from_response() {
        return None;
    }
    let now = myriad_net::clock::now_ms();
    let previous = writer.previous().cloned();
    let is_after_purge = was_purged(cache, previous.as_ref(), exchange, now);
    if lifetime.valid_ms <= min_ms {
        // A comparison would not change the validity, and could cause a second fetch at each refresh.
        meta.facts.stored_lifetime =
            PageHistory::new(now).limit(lifetime, min_ms, now, is_after_purge).into();
        return None;
    }
    let (history, next) = match (&previous, writer.body()) {
        (Some(previous), Some(body)) if previous.stored_body().is_none() && has_same_head(previous, meta) => {
            let renderings = Renderings { previous, body: &body, now };
            match check {
                Some(check) => (renderings.after_second_fetch(exchange, cache, &check), None),
                None => renderings.after_refresh(),
            }
        }
        _ => (PageHistory::new(now), None),
    };
    *meta = meta.with_history(&history);
    meta.facts.stored_lifetime = history.limit(lifetime, min_ms, now, is_after_purge).into();
    next
}

/// Limits the lifetime of a page that the origin confirmed by a 304, and copies the history of the page.
pub(crate) fn confirm(exchange: &Exchange, cache: &CachePlace, stored: &Page, meta: &mut PageMeta, now: u64) {
    let Some(min_ms) = cache.rules.adaptive_min_ms else { return };
    let history = stored.meta().history().unwrap_or_else(|| PageHistory::new(stored.stored_at()));
    let is_after_purge = was_purged(cache, Some(stored), exchange, now);
    let lifetime = history.limit(meta.facts.lifetime(), min_ms, now, is_after_purge);
    *meta = meta.with_history(&history);
    meta.facts.stored_lifetime = lifetime.into();
}

/// Returns whether the status, the media type and the target of a redirect are those of the stored page.
fn has_same_head(stored: &Page, meta: &PageMeta) -> bool {
    let (stored, new) = (stored.meta(), meta.view());
    let location = |lines: &[u8]| {
        let mut lines = lines.split(|byte| *byte == b'\n');
        lines
            .find(|line| line.get(..9).is_some_and(|name| name.eq_ignore_ascii_case(b"location:")))
            .map(<[u8]>::to_vec)
    };
    stored.status == new.status
        && stored.media_type() == new.media_type()
        && location(stored.lines()) == location(new.lines())
}

/// Returns whether a purge covered the page, and the last purge of the zone was less than 10 s ago.
fn was_purged(cache: &CachePlace, previous: Option<&Page>, exchange: &Exchange, now: u64) -> bool {
    let zone = &cache.zone;
    let is_covered = match previous {
        Some(previous) => is_covered_by_purge(previous),
        None => {
            zone.zone.removal_reason(KeyRef::new(&exchange.request.cache.key)) == Some(RemovalReason::Purged)
        }
    };
    is_covered
        && zone.purges.last_at_ms().is_some_and(|at| to_wall_ms(now).saturating_sub(at) < AFTER_PURGE_MS)
}

/// Stored page and the body that replaces it.
struct Renderings<'a> {
    previous: &'a Page,
    body: &'a Body,
    /// Current time, in milliseconds since the epoch.
    now: u64,
}

impl Renderings<'_> {
    /// Returns the history of a refreshed page, and a check if the page must be fetched again.
    fn after_refresh(&self) -> (PageHistory, Option<NoiseCheck>) {
        let old = self.previous.meta().history();
        let old = old.unwrap_or_else(|| PageHistory::new(self.previous.stored_at()));
        if let Ok(noise) = old.noise.compare(&contiguous(&self.previous.body()), &contiguous(self.body)) {
            return (PageHistory { noise, ..old }, None);
        }
        let was_equal = old.equal_since.saturating_add(MIN_EQUAL_MS) < self.previous.stored_at();
        // A change that a purge announced needs no explanation.
        let is_checked = !is_covered_by_purge(self.previous) && (was_equal || !old.is_noise_known);
        // The places with noise are not those of the new content, so that they must be found again.
        let is_noise_known = old.is_noise_known && !is_checked && !is_covered_by_purge(self.previous);
        let history = PageHistory { is_noise_known, ..PageHistory::new(self.now) };
        (history, is_checked.then(|| NoiseCheck { before: self.previous.clone() }))
    }

    /// Returns the history of a page that was fetched twice in succession: `previous` is the first of these fetches.
    fn after_second_fetch(&self, exchange: &Exchange, cache: &CachePlace, check: &NoiseCheck) -> PageHistory {
        if is_covered_by_purge(self.previous) {
            // A purge announced a change between the two fetches: their differences are not only noise.
            return PageHistory::new(self.now);
        }
        let body = contiguous(self.body);
        let changed = PageHistory { is_noise_known: true, ..PageHistory::new(self.previous.stored_at()) };
        let first = self.previous.body();
        let Some(noise) = Noise::between(&contiguous(&first), &body) else { return changed };
        let before = check.before.body();
        let before = contiguous(&before);
        match noise.compare(&body, &before) {
            Ok(_) => {
                let old = check.before.meta().history();
                let equal_since = old.map_or(check.before.stored_at(), |old| old.equal_since);
                PageHistory { equal_since, noise, ..changed }
            }
            Err(difference) => {
                report(exchange, cache, &check.before, [&before, &body], difference, self.now);
                PageHistory { noise, ..changed }
            }
        }
    }
}

/// Reports a change that no purge announced: in the error log, and in the log of the zone's purges. The texts are the page
/// before and after the change.
fn report(
    exchange: &Exchange,
    cache: &CachePlace,
    page: &Page,
    [before, after]: [&[u8]; 2],
    difference: Difference,
    now: u64,
) {
    let marks = page.meta().marks();
    let name = String::from_utf8_lossy(&[marks.host(), marks.target()].concat()).into_owned();
    let ((near, after), (_, before)) =
        (excerpt(after, difference.stored), excerpt(before, difference.rendered));
    exchange.request.log(
        LogLevel::Notice,
        format_args!("page \"{name}\" changed without a purge: \"{near}{before}\" is now \"{near}{after}\""),
    );
    let tags = marks.tags().collect::<Vec<_>>().join(&b' ');
    let tags = String::from_utf8_lossy(&tags);
    cache.zone.purges.note(PurgeLogEntry {
        at_ms: to_wall_ms(now),
        kind: "changed",
        what: format!("{name}: \"{near}{before}\" is now \"{near}{after}\"; tags: {tags}"),
        soft: false,
        by: PurgeSource::Refresh,
        number: now,
        pages: Some(1),
        at_least: false,
        change: Some(Box::new(TextChange { page: name, near, before, after })),
    });
}

/// Returns the text before a difference and the text from it on, each without line breaks.
fn excerpt(page: &[u8], difference: Range<usize>) -> (String, String) {
    let start = difference.start.min(page.len());
    let end = difference.end.max(start + EXCERPT_CONTEXT).min(start + MAX_EXCERPT).min(page.len());
    let near = one_line(&page[start.saturating_sub(EXCERPT_CONTEXT)..start]);
    (near, one_line(&page[start..end]))
}

/// Returns text with one space in place of each sequence of white space.
fn one_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if !character.is_whitespace() {
            line.push(character);
        } else if !line.ends_with(' ') {
            line.push(' ');
        }
    }
    line
}

/// Returns the bytes of a body as one slice; an empty slice for a body that is not in memory.
fn contiguous(body: &Body) -> Cow<'_, [u8]> {
    match body.segments() {
        [one] => Cow::Borrowed(one),
        several => Cow::Owned(several.concat()),
    }
}
