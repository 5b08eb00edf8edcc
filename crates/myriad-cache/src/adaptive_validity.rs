//! Adaptive validity (`*_cache_adaptive`): limits the validity that a response sets, in general to half the time for
//! which the content of the page is known to be equal ([`PageHistory::limit`]).
//!
//! A refreshed page is compared with the page that it replaces. If it differs although no purge covers it, the page is
//! fetched again at once, unless its noise is known and it has changed at each refresh; and a third time if these two
//! renderings differ. What differs each time is noise (nonces, times, random ids), which is ignored from then on. If
//! the page still differs from the replaced one, its content was changed without a purge.
//!
//! ```text
//!   stored page -- refresh --> equal: equal_since is unchanged
//!                          \-> different --> stored, and fetched again --> noise only: equal_since is unchanged
//!                                                                     \--> changed: equal_since is the time of the
//!                                                                          first fetch; reported
//! ```

use std::borrow::Cow;

use myriad_log::LogLevel;
use myriad_net::clock::to_wall_ms;
use myriad_policy::{AFTER_PURGE_MS, Difference, PageHistory, StoredRendering, excerpt};
use myriad_store::page::{Page, PageMeta, PurgeLogEntry, PurgeSource, TextChange};
use myriad_store::{Body, BodyWriter, KeyRef, RemovalReason};

use crate::arrival::Arrival;
use crate::stale_fallback::is_covered_by_purge;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::CachePlace;

/// Check of a page whose refresh returned different content: the page is fetched again, to find out whether the
/// difference is noise (text that differs at each rendering).
pub(crate) struct NoiseCheck {
    /// Stored page that the first fetch, the refresh, replaced.
    pub before: Page,
    /// Result of the refresh, if two fetches differed and the page is fetched for the third time; otherwise `None`.
    pub first: Option<Page>,
}

/// Facts about a fetch that returned a page, for the comparison with the replaced page.
pub(crate) struct Fetched {
    /// Time of the request to the origin, in milliseconds since the epoch.
    pub requested_at: u64,
    /// True if the page shows counters of visits, so that decimal numbers are not compared.
    pub shows_counters: bool,
    /// Check for which the page was fetched again; `None` for an ordinary fetch.
    pub check: Option<NoiseCheck>,
}

/// Sets the history of a page whose body is complete, and limits its lifetime (`*_cache_adaptive`). Does nothing
/// without the directive, or if the response does not specify the lifetime. A page with a lifetime of at most the
/// configured minimum is not compared and gets no history.
///
/// The page is compared with the page that it replaces; if there is none, or one of the bodies is only on disk, or
/// status, media type or redirect target differ, the page gets a new history. Returns the check for which the page must
/// be fetched again; `None` if no further fetch is needed.
pub(crate) fn assess(
    exchange: &Exchange,
    cache: &CachePlace,
    writer: &mut BodyWriter<PageMeta>,
    meta: &mut PageMeta,
    fetched: Fetched,
) -> Option<NoiseCheck> {
    let min_ms = cache.rules.adaptive_min_ms?;
    let requested_at = fetched.requested_at;
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
            PageHistory::new(now).limit(lifetime, min_ms, requested_at, is_after_purge).into();
        return None;
    }
    let (history, next) = match (&previous, writer.body()) {
        (Some(previous), Some(body)) if previous.stored_body().is_none() && has_same_head(previous, meta) => {
            compare(exchange, cache, (previous, &body), fetched, now)
        }
        _ => (PageHistory::new(now), None),
    };
    *meta = meta.with_history(&history);
    meta.facts.stored_lifetime = history.limit(lifetime, min_ms, requested_at, is_after_purge).into();
    next
}

/// Limits the lifetime of a page that the origin confirmed by a 304, and copies the history of the stored page to
/// `meta`; if the stored page has no history, `meta` gets a history that begins when the page was stored. Does nothing
/// without `*_cache_adaptive`.
pub(crate) fn confirm(
    exchange: &Exchange,
    cache: &CachePlace,
    stored: &Page,
    meta: &mut PageMeta,
    Arrival { now, delay_ms }: Arrival,
) {
    let Some(min_ms) = cache.rules.adaptive_min_ms else { return };
    let history = stored.meta().history().unwrap_or_else(|| PageHistory::new(stored.stored_at()));
    let is_after_purge = was_purged(cache, Some(stored), exchange, now);
    let lifetime = history.limit(meta.facts.lifetime(), min_ms, now.saturating_sub(delay_ms), is_after_purge);
    *meta = meta.with_history(&history);
    meta.facts.stored_lifetime = lifetime.into();
}

/// Returns whether a new page has the same status, media type and redirect target (`Location`) as the stored page.
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

/// Returns whether a purge covered or removed the page, and the last purge of the zone was less than 10 s ago.
/// `previous` is the stored page that is replaced; `None` if there is none.
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

/// Returns the facts about a stored page that comparisons use. Comparisons do not compare decimal numbers if
/// `ignores_numbers` is true.
fn rendering<'a>(page: &Page, body: &'a [u8], ignores_numbers: bool) -> StoredRendering<'a> {
    StoredRendering {
        body,
        stored_at: page.stored_at(),
        history: page.meta().history(),
        is_purged: is_covered_by_purge(page),
        ignores_numbers,
    }
}

/// Compares a page with `body` with the page `previous` that it replaces at `now`. Returns the history of the new page,
/// and a check if the page must be fetched again. Reports a change of the content that no purge announced.
fn compare(
    exchange: &Exchange,
    cache: &CachePlace,
    (previous, body): (&Page, &Body),
    Fetched { shows_counters, check, .. }: Fetched,
    now: u64,
) -> (PageHistory, Option<NoiseCheck>) {
    let (stored, body) = (previous.body(), contiguous(body));
    let stored = contiguous(&stored);
    let stored = rendering(previous, &stored, shows_counters);
    let Some(NoiseCheck { before, first }) = check else {
        let found = stored.after_refresh(&body, now);
        let next = found.is_checked.then(|| NoiseCheck { before: previous.clone(), first: None });
        return (found.history, next);
    };
    let earlier = before.body();
    let earlier = contiguous(&earlier);
    let earlier_rendering = rendering(&before, &earlier, shows_counters);
    let found = match &first {
        None => stored.after_second_fetch(&earlier_rendering, &body, now),
        Some(first) => {
            let first_body = first.body();
            let first_body = contiguous(&first_body);
            let first = rendering(first, &first_body, shows_counters);
            stored.after_third_fetch((&earlier_rendering, &first), &body, now)
        }
    };
    if let Some(difference) = found.change {
        report(exchange, cache, &before, [&earlier, &body], difference, now);
    }
    let next = found.is_checked.then(|| NoiseCheck { before: before.clone(), first: Some(previous.clone()) });
    (found.history, next)
}

/// Reports a change that no purge announced: in the error log (level `notice`), and in the log of the zone's purges.
/// `before` and `after` are the bodies of the page; the reports contain an excerpt of each at the difference.
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
        is_anonymous: false,
        number: now,
        pages: Some(1),
        at_least: false,
        change: Some(Box::new(TextChange { page: name, near, before, after })),
    });
}

/// Returns the bytes of a body as one slice; an empty slice for a body that is not in memory.
pub(crate) fn contiguous(body: &Body) -> Cow<'_, [u8]> {
    match body.segments() {
        [one] => Cow::Borrowed(one),
        several => Cow::Owned(several.concat()),
    }
}
