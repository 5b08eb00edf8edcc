//! Freshness, and invalidation after unsafe methods, by RFC 9111, for locations with `cache_rfc9111 on`.
//!
//! The origin's fields for accelerators still have priority, and the configuration's `*_cache_valid` still applies if
//! the response has no validity.

use myriad_base::calendar::parse_http_date;
use myriad_http::cache_control::CacheControl;
use myriad_http::{Fields, Known, Method};

use crate::accelerator;
use crate::stale_windows::stale_windows;
use crate::validity::{Freshness, ValiditySource, is_private, lifetime};
use crate::{CachePolicy, Invalidate, StoreRefusal};

/// Maximum heuristic validity, in ms. RFC 9111 §4.2.2 requires a bound without recommending a value. With one day, a
/// page that was modified years ago is not considered fresh for months.
pub(crate) const HEURISTIC_MAX_MS: u64 = 24 * 60 * 60 * 1000;

/// Response field that controls only this cache (RFC 9213), preferred to `CDN-Cache-Control`.
const OWN: &[u8] = b"Myriad-Cache-Control";

/// Cache directives that apply: those of `Myriad-Cache-Control`, else of `CDN-Cache-Control`, if present and valid,
/// else of `Cache-Control`. With the first two, `Cache-Control` and `Expires` are ignored (RFC 9213 §2.2), except that
/// `private` in `Cache-Control` remains effective.
#[derive(Clone, Debug)]
pub(crate) struct EffectiveControl {
    pub(crate) control: CacheControl,
    targeted: bool,
}

impl EffectiveControl {
    pub(crate) fn of(fields: &Fields) -> EffectiveControl {
        let plain = || CacheControl::parse(fields.known_all(Known::CacheControl));
        let targeted = [OWN, Known::CdnCacheControl.as_str().as_bytes()].into_iter().find_map(|name| {
            let is_there = fields.get(name).is_some();
            is_there.then(|| CacheControl::parse_targeted(fields.get_all(name))).flatten()
        });
        match targeted {
            Some(mut control) => {
                // Neither a directive nor another field overrides `private`.
                control.private |= is_private(&plain());
                EffectiveControl { control, targeted: true }
            }
            None => EffectiveControl { control: plain(), targeted: false },
        }
    }
}

/// Returns the freshness of a response, or the reason why it is not stored.
///
/// `delay_ms` is the time from the request to the response head. A 200 with a validator (`ETag`, `Last-Modified`) is
/// stored even if it is already expired, because the origin can validate it later (RFC 9111 §4.3).
pub(crate) fn freshness(
    status: u16,
    fields: &Fields,
    rules: &CachePolicy,
    now: u64,
    delay_ms: u64,
) -> Result<Freshness, StoreRefusal> {
    let mut control_fields = EffectiveControl::of(fields);
    if rules.ignore.cache_control {
        control_fields = EffectiveControl { control: CacheControl::default(), targeted: false };
    }
    let control = &control_fields.control;
    let age_ms = initial_age_ms(fields, now, delay_ms);
    let confirmable = status == 200 && (fields.has(Known::ETag) || fields.has(Known::LastModified));
    let always_asked = control.no_cache || !control.no_cache_fields.is_empty();
    let (fresh_until, source) = match accelerator::fresh_until(fields, rules, now) {
        Some(until) => until?,
        None if forbids_storing(control, status) || always_asked && !confirmable => {
            return Err(StoreRefusal::CacheControl);
        }
        None => {
            let (lifetime_ms, source) = response_lifetime(status, fields, &control_fields, rules, now)
                .or_else(|| confirmable.then_some((0, ValiditySource::Heuristic)))
                .ok_or(StoreRefusal::NoValidity)?;
            let begun = if source == ValiditySource::CacheValid { now } else { now.saturating_sub(age_ms) };
            (begun.saturating_add(lifetime_ms), source)
        }
    };
    let always_asked = always_asked && !source.is_for_accelerators();
    let fresh_until = if always_asked { now } else { fresh_until };
    if fresh_until <= now && !confirmable && !source.is_for_accelerators() {
        return Err(StoreRefusal::Expired);
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

/// Returns the lifetime in ms and its source: the response, `*_cache_valid` or a heuristic. Returns `None` if none
/// applies or `*_cache_valid` is 0 for the status.
fn response_lifetime(
    status: u16,
    fields: &Fields,
    control_fields: &EffectiveControl,
    rules: &CachePolicy,
    now: u64,
) -> Option<(u64, ValiditySource)> {
    if let Some((seconds, source)) = lifetime(&control_fields.control) {
        return Some((seconds.saturating_mul(1000), source));
    }
    if !control_fields.targeted
        && let Some(value) = fields.known(Known::Expires).filter(|_| !rules.ignore.expires)
    {
        // Relative to the clock of the origin (RFC 9111 §4.2.1). An invalid date means expired (RFC 9111 §5.3).
        let expires_ms = parse_http_date(value, now / 1000).unwrap_or(0).saturating_mul(1000);
        return Some((expires_ms.saturating_sub(date_ms(fields, now)), ValiditySource::Expires));
    }
    if let Some(valid) = rules.valid_for(status) {
        return (valid > 0).then_some((valid, ValiditySource::CacheValid));
    }
    heuristic_ms(status, fields, &control_fields.control, now).map(|valid| (valid, ValiditySource::Heuristic))
}

/// Returns the age of a response when its head arrived (RFC 9111 §4.2.3), in ms.
pub(crate) fn initial_age_ms(fields: &Fields, now: u64, delay_ms: u64) -> u64 {
    let apparent = now.saturating_sub(date_ms(fields, now));
    // `Date` has a resolution of one second, so a fraction of a second is ignored.
    let apparent = apparent / 1000 * 1000;
    apparent.max(age_field_ms(fields).unwrap_or(0).saturating_add(delay_ms))
}

/// Returns the value of the `Age` field in ms; `None` if it is missing or invalid.
pub(crate) fn age_field_ms(fields: &Fields) -> Option<u64> {
    Some(fields.known(Known::Age).and_then(age_s)?.saturating_mul(1000))
}

/// Parses `Age` in seconds: of several values the first is used; `None` for an invalid number, which is ignored (RFC
/// 9111 §5.1).
fn age_s(value: &[u8]) -> Option<u64> {
    let first = value.split(|byte| *byte == b',').next().unwrap_or_default().trim_ascii();
    let number = |sum: u64, byte: &u8| sum.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
    (!first.is_empty() && first.iter().all(u8::is_ascii_digit)).then(|| first.iter().fold(0, number))
}

fn date_ms(fields: &Fields, now: u64) -> u64 {
    let date = fields.known(Known::Date).and_then(|value| parse_http_date(value, now / 1000));
    date.map_or(now, |seconds| seconds.saturating_mul(1000))
}

/// Returns the heuristic lifetime in ms: a tenth of the time since `Last-Modified` (RFC 9111 §4.2.2), at most one day.
/// `None` without `Last-Modified`, or if neither RFC 9110 §15.1 lists the status nor the response is `public`.
fn heuristic_ms(status: u16, fields: &Fields, control: &CacheControl, now: u64) -> Option<u64> {
    let by_default = matches!(status, 200 | 203 | 204 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501);
    if !by_default && !control.public {
        return None;
    }
    let modified = fields.known(Known::LastModified).and_then(|value| parse_http_date(value, now / 1000))?;
    let untouched = date_ms(fields, now).saturating_sub(modified.saturating_mul(1000));
    Some((untouched / 10).min(HEURISTIC_MAX_MS))
}

/// Returns whether the response must not be stored: with `must-understand` if the status is not understood, without it
/// if `no-store` is set (RFC 9111 §5.2.2.3, §5.2.2.5).
fn forbids_storing(control: &CacheControl, status: u16) -> bool {
    if control.must_understand {
        return !is_understood(status);
    }
    control.no_store
}

/// Returns whether this cache implements the caching requirements of the status (for `must-understand`).
fn is_understood(status: u16) -> bool {
    matches!(
        status,
        200 | 203 | 204 | 300..=303 | 307 | 308 | 400 | 403..=405 | 410 | 414 | 451 | 500..=504
    )
}

/// Returns whether `Cache-Control` forbids serving the response stale (RFC 9111 §4.2.4, §5.2.2.2, §5.2.2.8, §5.2.2.10).
fn forbids_stale(control: &CacheControl) -> bool {
    control.must_revalidate || control.proxy_revalidate || control.s_maxage.is_some()
}

/// Stored pages that a response invalidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalidated {
    /// Pages whose URLs are in `Location` and `Content-Location`: they must be fetched before they are served again.
    Named,
    /// The page of the request's own URI, and the pages whose URLs are in `Location` and `Content-Location`: all of
    /// them are removed.
    All,
}

/// Returns the stored pages that a response invalidates if the request's method is not known to be safe
/// ([`Method::is_safe`], RFC 9111 §4.4); `None` for no pages. `*_cache_invalidate` defines which statuses invalidate
/// which pages.
pub fn invalidates(method: Method, status: u16, rules: &CachePolicy) -> Option<Invalidated> {
    let safe = method.is_safe();
    match rules.invalidate {
        Invalidate::Everything if !safe && (200..400).contains(&status) => Some(Invalidated::All),
        Invalidate::Redirects if !safe && matches!(status, 300..=303 | 307 | 308) => Some(Invalidated::Named),
        _ => None,
    }
}

/// Returns whether the client only accepts a stored page (`only-if-cached`, RFC 9111 §5.2.1.7). This is the only cache
/// directive of clients that is obeyed, because it never causes work for the origin.
pub fn wants_stored_only(fields: &Fields) -> bool {
    fields.has(Known::CacheControl)
        && CacheControl::parse(fields.known_all(Known::CacheControl)).only_if_cached
}

#[cfg(test)]
mod tests;
