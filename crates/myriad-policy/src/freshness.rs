//! Freshness of a response in nginx's order of precedence: fields for accelerators (`X-Accel-Expires`, …), then
//! `Cache-Control` and `Expires`, then `*_cache_valid`.

use myriad_base::calendar::parse_http_date;
use myriad_http::cache_control::CacheControl;
use myriad_http::{Fields, Known};

use crate::request_errors::is_named;
use crate::request_status::is_request_error;
use crate::rfc9111::{self, age_field_ms};
use crate::stale_windows::stale_windows;
use crate::validity::{Freshness, ValiditySource, is_private, lifetime, positive};
use crate::{CachePolicy, StoreRefusal, accelerator};

/// Multiple, in ms, to which the expiry by `*_cache_valid` is rounded up. Pages that were fetched together are
/// refreshed together, and a page with a validity of one second is not fetched more often than once per second plus the
/// fetch time. nginx uses a whole second.
const TICK_MS: u64 = 64;

/// Returns the validity of a response with `status` and `fields`, or the reason why it has none. `now` is in ms since
/// the epoch.
///
/// Only considers time; other reasons against storing are checked by [`admit`](crate::admit). `delay_ms` is the time
/// from the request to the response head. It adds to the age of the response, but reduces its freshness only under
/// `cache_rfc9111`.
pub fn freshness(
    status: u16,
    fields: &Fields,
    rules: &CachePolicy,
    now: u64,
    delay_ms: u64,
) -> Result<Freshness, StoreRefusal> {
    if rules.rfc9111 {
        return rfc9111::freshness(status, fields, rules, now, delay_ms);
    }
    let control = if rules.ignore.cache_control {
        CacheControl::default()
    } else {
        CacheControl::parse(fields.known_all(Known::CacheControl))
    };
    let (until, source) = validity(status, fields, &control, rules, now)?;
    let tick = if source == ValiditySource::CacheValid { TICK_MS } else { 1 };
    let (stale_while_revalidate_ms, stale_if_error_ms) = stale_windows(&control, source, fields, rules);
    Ok(Freshness {
        fresh_until: until.checked_next_multiple_of(tick).unwrap_or(until),
        valid_ms: until.saturating_sub(now),
        stale_while_revalidate_ms,
        stale_if_error_ms,
        must_revalidate: false,
        source,
        born: age_field_ms(fields).map(|age_ms| now.saturating_sub(age_ms.saturating_add(delay_ms))),
    })
}

fn validity(
    status: u16,
    fields: &Fields,
    control: &CacheControl,
    rules: &CachePolicy,
    now: u64,
) -> Result<(u64, ValiditySource), StoreRefusal> {
    // The validity sent by the origin is ignored, because some applications send a lifetime with every response.
    if is_request_error(status) && !is_named(status, rules) {
        return Err(StoreRefusal::RequestError);
    }
    if let Some(until) = accelerator::fresh_until(fields, rules, now) {
        return until;
    }
    if forbids_storing(control) {
        return Err(StoreRefusal::CacheControl);
    }
    let from_now = |valid_ms: u64, source: ValiditySource| (now.saturating_add(valid_ms), source);
    if let Some((seconds, source)) = lifetime(control) {
        let valid = positive(seconds.saturating_mul(1000), StoreRefusal::Expired)?;
        return Ok(from_now(valid, source));
    }
    if let Some(valid) = expires(fields, rules, now) {
        return Ok(from_now(positive(valid, StoreRefusal::Expired)?, ValiditySource::Expires));
    }
    let valid = rules.valid_for(status).unwrap_or(0);
    Ok(from_now(positive(valid, StoreRefusal::NoValidity)?, ValiditySource::CacheValid))
}

/// Returns whether `Cache-Control` has `no-cache`, `no-store` or `private` (RFC 9111 §5.2.2.4, §5.2.2.5, §5.2.2.7). As
/// in nginx, the forms with field names count like those without: this may cost a hit, but never leaks data.
fn forbids_storing(control: &CacheControl) -> bool {
    control.no_store || control.no_cache || !control.no_cache_fields.is_empty() || is_private(control)
}

/// Returns the time until `Expires` in ms, relative to `now`, as in nginx; 0 if it is in the past or an invalid date,
/// such as `0` (RFC 9111 §5.3). `None` if the field is missing or ignored.
fn expires(fields: &Fields, rules: &CachePolicy, now: u64) -> Option<u64> {
    let value = fields.known(Known::Expires).filter(|_| !rules.ignore.expires)?;
    let expires_ms = parse_http_date(value, now / 1000).unwrap_or(0).saturating_mul(1000);
    Some(expires_ms.saturating_sub(now))
}

#[cfg(test)]
mod tests;
