//! How long an answer stays fresh, in nginx's order: `X-Accel-Expires`, then `Cache-Control` and `Expires`, then
//! `*_cache_valid`.

use myriad_http::cache_control::CacheControl;
use myriad_http::date::parse_http_date;
use myriad_http::{Fields, Known};

use crate::{Refusal, Rules, rfc9111};

/// How long an answer is fresh, and how long it may serve stale by the origin's own word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// Fresh before this time, in ms since the epoch. It may be over: an absolute `X-Accel-Expires` of the past, or what
    /// RFC 9111 lets be stored only to be confirmed.
    pub fresh_until: u64,
    /// The same in ms from now; 0 where it is over.
    pub valid_ms: u64,
    /// `stale-while-revalidate` (RFC 5861 §3), in ms behind the validity.
    pub stale_while_revalidate_ms: u64,
    /// `stale-if-error` (RFC 5861 §4), in ms behind the validity; at least the former, as in nginx.
    pub stale_if_error_ms: u64,
    /// Whether stale service is forbidden (RFC 9111 §5.2.2.2, §5.2.2.4, §5.2.2.8, §5.2.2.10); only under `cache_rfc9111`.
    pub must_revalidate: bool,
    /// Who gave the validity.
    pub source: Source,
    /// When the answer was made at the origin, in ms since the epoch, as far as can be told (RFC 9111 §4.2.3); only under
    /// `cache_rfc9111`.
    pub born: Option<u64>,
}

/// Where a validity comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// `X-Accel-Expires`.
    XAccelExpires,
    /// `Cache-Control: s-maxage` (RFC 9111 §5.2.2.10).
    SMaxage,
    /// `Cache-Control: max-age` (RFC 9111 §5.2.2.1).
    MaxAge,
    /// `Expires` (RFC 9111 §5.3).
    Expires,
    /// `*_cache_valid`.
    CacheValid,
    /// A tenth of the time since `Last-Modified` (RFC 9111 §4.2.2); only under `cache_rfc9111`.
    Heuristic,
}

impl Source {
    /// Whether the answer itself gave the validity, rather than the configuration or a guess.
    pub const fn is_the_answer(self) -> bool {
        !matches!(self, Source::CacheValid | Source::Heuristic)
    }
}

/// The validity of an answer with `status` and `fields`, or why it has none; `now` in ms since the epoch.
///
/// Judges time only: what else keeps an answer out of the cache is [`admit`](crate::admit)'s. `delay_ms` is how long the
/// head took to come; it counts only under `cache_rfc9111`.
pub fn freshness(
    status: u16,
    fields: &Fields,
    rules: &Rules,
    now: u64,
    delay_ms: u64,
) -> Result<Freshness, Refusal> {
    if rules.rfc9111 {
        return rfc9111::freshness(status, fields, rules, now, delay_ms);
    }
    let control = if rules.ignore.cache_control {
        CacheControl::default()
    } else {
        CacheControl::parse(fields.known_all(Known::CacheControl))
    };
    let (fresh_until, source) = validity(status, fields, &control, rules, now)?;
    let (stale_while_revalidate_ms, stale_if_error_ms) = stale_windows(&control);
    Ok(Freshness {
        fresh_until,
        valid_ms: fresh_until.saturating_sub(now),
        stale_while_revalidate_ms,
        stale_if_error_ms,
        must_revalidate: false,
        source,
        born: None,
    })
}

/// `stale-while-revalidate` and `stale-if-error` in ms: nginx lets a page that may serve stale while it is refreshed also
/// serve when the refresh fails.
pub(crate) fn stale_windows(control: &CacheControl) -> (u64, u64) {
    let updating = in_ms(control.stale_while_revalidate);
    (updating, in_ms(control.stale_if_error).max(updating))
}

fn validity(
    status: u16,
    fields: &Fields,
    control: &CacheControl,
    rules: &Rules,
    now: u64,
) -> Result<(u64, Source), Refusal> {
    if let Some(until) = x_accel_expires(fields, rules, now) {
        return until.map(|until| (until, Source::XAccelExpires));
    }
    if forbids_storing(control) {
        return Err(Refusal::CacheControl);
    }
    let from_now = |valid_ms: u64, source: Source| (now.saturating_add(valid_ms), source);
    if let Some((seconds, source)) = lifetime(control) {
        let valid = positive(seconds.saturating_mul(1000), Refusal::Expired)?;
        return Ok(from_now(valid, source));
    }
    if let Some(valid) = expires(fields, rules, now) {
        return Ok(from_now(positive(valid, Refusal::Expired)?, Source::Expires));
    }
    let valid = rules.valid_for(status).unwrap_or(0);
    Ok(from_now(positive(valid, Refusal::NoValidity)?, Source::CacheValid))
}

fn positive(valid_ms: u64, refusal: Refusal) -> Result<u64, Refusal> {
    if valid_ms == 0 { Err(refusal) } else { Ok(valid_ms) }
}

/// When `X-Accel-Expires` lets the answer expire, ms since the epoch: seconds, or `@` and seconds since the epoch. 0
/// forbids storing; what is no number is passed over; an absolute time that is over is stored as expired, as in nginx.
pub(crate) fn x_accel_expires(fields: &Fields, rules: &Rules, now: u64) -> Option<Result<u64, Refusal>> {
    let value = fields.known(Known::XAccelExpires).filter(|_| !rules.ignore.x_accel_expires)?;
    if let Some(absolute) = value.strip_prefix(b"@") {
        return Some(Ok(digits(absolute)?.saturating_mul(1000)));
    }
    let valid = digits(value)?.saturating_mul(1000);
    Some(positive(valid, Refusal::XAccelExpires).map(|valid| now.saturating_add(valid)))
}

/// Decimal digits and nothing else; a number beyond `u64` is the largest (RFC 9111 §1.2.2).
fn digits(value: &[u8]) -> Option<u64> {
    let number = |sum: u64, byte: &u8| sum.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
    (!value.is_empty() && value.iter().all(u8::is_ascii_digit)).then(|| value.iter().fold(0, number))
}

/// `no-cache`, `no-store` and `private` (RFC 9111 §5.2.2.4, §5.2.2.5, §5.2.2.7). Their forms with field names count as
/// the whole, as in nginx: it costs a hit and never a secret.
fn forbids_storing(control: &CacheControl) -> bool {
    control.no_store || control.no_cache || !control.no_cache_fields.is_empty() || is_private(control)
}

/// `private`, with field names or without.
pub(crate) fn is_private(control: &CacheControl) -> bool {
    control.private || !control.private_fields.is_empty()
}

/// A shared cache prefers `s-maxage` (RFC 9111 §4.2.1).
pub(crate) fn lifetime(control: &CacheControl) -> Option<(u64, Source)> {
    let shared = control.s_maxage.map(|seconds| (seconds, Source::SMaxage));
    shared.or_else(|| control.max_age.map(|seconds| (seconds, Source::MaxAge)))
}

/// Ms until `Expires`; 0 where it is over or no date, `0` above all (RFC 9111 §5.3). nginx counts from the moment of arrival.
fn expires(fields: &Fields, rules: &Rules, now: u64) -> Option<u64> {
    let value = fields.known(Known::Expires).filter(|_| !rules.ignore.expires)?;
    let expires_ms = parse_http_date(value, now / 1000).unwrap_or(0).saturating_mul(1000);
    Some(expires_ms.saturating_sub(now))
}

fn in_ms(seconds: Option<u64>) -> u64 {
    seconds.unwrap_or(0).saturating_mul(1000)
}

#[cfg(test)]
mod tests;
