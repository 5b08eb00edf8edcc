//! Freshness by RFC 9111, for places with `cache_rfc9111 on`, where it differs from nginx.
//!
//! The origin's own `X-Accel-Expires` and the configuration's `*_cache_valid` keep their ranks: the first is for an
//! accelerator alone, the second stands where the answer says nothing.

use myriad_calendar::parse_http_date;
use myriad_http::cache_control::CacheControl;
use myriad_http::{Fields, Known, Method};

use crate::accelerator;
use crate::stale_windows::stale_windows;
use crate::validity::{Freshness, Source, is_private, lifetime};
use crate::{Invalidate, Refusal, Rules};

/// The longest heuristic validity: RFC 9111 §4.2.2 asks for a bound and suggests none; a day keeps a page that was last
/// touched years ago from staying for months.
pub(crate) const HEURISTIC_MAX_MS: u64 = 24 * 60 * 60 * 1000;

/// Field for this cache alone, ahead of those for all that stand before an origin.
const OWN: &[u8] = b"Myriad-Cache-Control";

/// The cache control that holds for this cache: `Myriad-Cache-Control`, else `CDN-Cache-Control`, where it is there and sound, and
/// `Cache-Control` and `Expires` count for nothing then (RFC 9213 §2.2); `private` in either stays what it is.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    pub(crate) control: CacheControl,
    targeted: bool,
}

impl Control {
    pub(crate) fn of(fields: &Fields) -> Control {
        let plain = || CacheControl::parse(fields.known_all(Known::CacheControl));
        let targeted = [OWN, Known::CdnCacheControl.as_str().as_bytes()].into_iter().find_map(|name| {
            let is_there = fields.get(name).is_some();
            is_there.then(|| CacheControl::parse_targeted(fields.get_all(name))).flatten()
        });
        match targeted {
            Some(mut control) => {
                // No directive of ours overrides `private`, nor does another field.
                control.private |= is_private(&plain());
                Control { control, targeted: true }
            }
            None => Control { control: plain(), targeted: false },
        }
    }
}

/// How long an answer is fresh: judges its time, and the directives of its origin about storing.
///
/// `delay_ms` is the time from asking to the head. An answer that is not fresh is still of use where the origin can confirm
/// it later (RFC 9111 §4.3): then it has expired already when it is stored.
pub(crate) fn freshness(
    status: u16,
    fields: &Fields,
    rules: &Rules,
    now: u64,
    delay_ms: u64,
) -> Result<Freshness, Refusal> {
    let mut said = Control::of(fields);
    if rules.ignore.cache_control {
        said = Control { control: CacheControl::default(), targeted: false };
    }
    let control = &said.control;
    let age_ms = initial_age_ms(fields, now, delay_ms);
    let confirmable = status == 200 && (fields.has(Known::ETag) || fields.has(Known::LastModified));
    let always_asked = control.no_cache || !control.no_cache_fields.is_empty();
    let (fresh_until, source) = match accelerator::until(fields, rules, now) {
        Some(until) => until?,
        None if forbids_storing(control, status) || always_asked && !confirmable => {
            return Err(Refusal::CacheControl);
        }
        None => {
            let (lifetime_ms, source) = own_lifetime(status, fields, &said, rules, now)
                .or_else(|| confirmable.then_some((0, Source::Heuristic)))
                .ok_or(Refusal::NoValidity)?;
            let begun = if source == Source::CacheValid { now } else { now.saturating_sub(age_ms) };
            (begun.saturating_add(lifetime_ms), source)
        }
    };
    let always_asked = always_asked && !source.is_for_accelerators();
    let fresh_until = if always_asked { now } else { fresh_until };
    if fresh_until <= now && !confirmable && !source.is_for_accelerators() {
        return Err(Refusal::Expired);
    }
    let (stale_while_revalidate_ms, stale_if_error_ms) = stale_windows(control, source, fields, rules);
    Ok(Freshness {
        fresh_until,
        valid_ms: fresh_until.saturating_sub(now),
        stale_while_revalidate_ms,
        stale_if_error_ms,
        must_revalidate: always_asked || forbids_stale(control),
        source,
        born: Some(now.saturating_sub(age_ms)),
    })
}

/// The lifetime in ms that the answer, the configuration or a heuristic gives; none where nothing does.
fn own_lifetime(
    status: u16,
    fields: &Fields,
    said: &Control,
    rules: &Rules,
    now: u64,
) -> Option<(u64, Source)> {
    if let Some((seconds, source)) = lifetime(&said.control) {
        return Some((seconds.saturating_mul(1000), source));
    }
    if !said.targeted
        && let Some(value) = fields.known(Known::Expires).filter(|_| !rules.ignore.expires)
    {
        // By the origin's own clock (RFC 9111 §4.2.1); a value that is no date has expired (RFC 9111 §5.3).
        let expires_ms = parse_http_date(value, now / 1000).unwrap_or(0).saturating_mul(1000);
        return Some((expires_ms.saturating_sub(date_ms(fields, now)), Source::Expires));
    }
    if let Some(valid) = rules.valid_for(status) {
        return (valid > 0).then_some((valid, Source::CacheValid));
    }
    heuristic_ms(status, fields, &said.control, now).map(|valid| (valid, Source::Heuristic))
}

/// The age of an answer when its head was here (RFC 9111 §4.2.3), in ms.
pub(crate) fn initial_age_ms(fields: &Fields, now: u64, delay_ms: u64) -> u64 {
    let apparent = now.saturating_sub(date_ms(fields, now));
    // A date has no fraction of a second: less than a second is no age.
    let apparent = apparent / 1000 * 1000;
    apparent.max(said_age_ms(fields).unwrap_or(0).saturating_add(delay_ms))
}

/// The age in ms that an answer says it has.
pub(crate) fn said_age_ms(fields: &Fields) -> Option<u64> {
    Some(fields.known(Known::Age).and_then(age_s)?.saturating_mul(1000))
}

/// `Age`: the first of several values counts; a value that is no number is ignored (RFC 9111 §5.1).
fn age_s(value: &[u8]) -> Option<u64> {
    let first = value.split(|byte| *byte == b',').next().unwrap_or_default().trim_ascii();
    let number = |sum: u64, byte: &u8| sum.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
    (!first.is_empty() && first.iter().all(u8::is_ascii_digit)).then(|| first.iter().fold(0, number))
}

fn date_ms(fields: &Fields, now: u64) -> u64 {
    let date = fields.known(Known::Date).and_then(|value| parse_http_date(value, now / 1000));
    date.map_or(now, |seconds| seconds.saturating_mul(1000))
}

/// A tenth of the time since `Last-Modified` (RFC 9111 §4.2.2), for the statuses that RFC 9110 §15.1 lists and for answers
/// that are marked `public`.
fn heuristic_ms(status: u16, fields: &Fields, control: &CacheControl, now: u64) -> Option<u64> {
    let by_default = matches!(status, 200 | 203 | 204 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501);
    if !by_default && !control.public {
        return None;
    }
    let modified = fields.known(Known::LastModified).and_then(|value| parse_http_date(value, now / 1000))?;
    let untouched = date_ms(fields, now).saturating_sub(modified.saturating_mul(1000));
    Some((untouched / 10).min(HEURISTIC_MAX_MS))
}

/// `no-store`, which `must-understand` lifts for a status that is understood here; a status that is not may not be
/// stored with it (RFC 9111 §5.2.2.3, §5.2.2.5).
fn forbids_storing(control: &CacheControl, status: u16) -> bool {
    if control.must_understand {
        return !is_understood(status);
    }
    control.no_store
}

/// The statuses whose meaning for caches is known here.
fn is_understood(status: u16) -> bool {
    matches!(
        status,
        200 | 203 | 204 | 300..=303 | 307 | 308 | 400 | 403..=405 | 410 | 414 | 451 | 500..=504
    )
}

/// RFC 9111 §4.2.4, §5.2.2.2, §5.2.2.8, §5.2.2.10.
fn forbids_stale(control: &CacheControl) -> bool {
    control.must_revalidate || control.proxy_revalidate || control.s_maxage.is_some()
}

/// The pages that an answer invalidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalidated {
    /// The pages that `Location` and `Content-Location` name: they are to be fetched before they are shown again.
    Named,
    /// These and the page of the request's own URI: they are removed.
    All,
}

/// The pages that the answer to a request with an unsafe method, known or not, invalidates (RFC 9111 §4.4).
pub fn invalidates(method: Method, status: u16, rules: &Rules) -> Option<Invalidated> {
    let safe = matches!(method, Method::Get | Method::Head | Method::Options | Method::Trace);
    match rules.invalidate {
        Invalidate::Everything if !safe && (200..400).contains(&status) => Some(Invalidated::All),
        Invalidate::Redirects if !safe && matches!(status, 300..=303 | 307 | 308) => Some(Invalidated::Named),
        _ => None,
    }
}

/// Whether a visitor asks for stored pages only (`only-if-cached`, RFC 9111 §5.2.1.7). It is the one directive of a visitor
/// that is obeyed, because it never makes the origin work.
pub fn wants_stored_only(fields: &Fields) -> bool {
    fields.has(Known::CacheControl)
        && CacheControl::parse(fields.known_all(Known::CacheControl)).only_if_cached
}

#[cfg(test)]
mod tests;
