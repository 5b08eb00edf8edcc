//! How long an answer stays fresh, in nginx's order: `X-Accel-Expires`, then `Cache-Control` and `Expires`, then
//! `*_cache_valid`.

use myriad_http::cache_control::CacheControl;
use myriad_http::date::parse_http_date;
use myriad_http::{Fields, Known};

use crate::{Refusal, Rules};

/// How long an answer is fresh, and how long it may serve stale by the origin's own word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// Validity in ms from now; never 0.
    pub valid_ms: u64,
    /// `stale-while-revalidate` (RFC 5861 §3), in ms behind the validity.
    pub stale_while_revalidate_ms: u64,
    /// `stale-if-error` (RFC 5861 §4), in ms behind the validity; at least the former, as in nginx.
    pub stale_if_error_ms: u64,
    /// Whether stale service is forbidden (RFC 9111 §5.2.2.2, §5.2.2.8, §5.2.2.10); only under `cache_rfc9111`.
    pub must_revalidate: bool,
    /// Who gave the validity.
    pub source: Source,
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

/// The longest heuristic validity: RFC 9111 §4.2.2 asks for a bound and suggests none; a day keeps a page that was last
/// touched years ago from staying for months.
const HEURISTIC_MAX_MS: u64 = 24 * 60 * 60 * 1000;

/// The validity of an answer with `status` and `fields`, or why it has none; `now` in ms since the epoch.
///
/// Judges time only: what else keeps an answer out of the cache is [`admit`](crate::admit)'s.
pub fn freshness(status: u16, fields: &Fields, rules: &Rules, now: u64) -> Result<Freshness, Refusal> {
    let control = if rules.ignore.cache_control {
        CacheControl::default()
    } else {
        CacheControl::parse(fields.known_all(Known::CacheControl))
    };
    let (valid_ms, source) = validity(status, fields, &control, rules, now)?;
    let stale_while_revalidate_ms = in_ms(control.stale_while_revalidate);
    Ok(Freshness {
        valid_ms,
        stale_while_revalidate_ms,
        // nginx lets a page that may serve stale while it is refreshed also serve when the refresh fails.
        stale_if_error_ms: in_ms(control.stale_if_error).max(stale_while_revalidate_ms),
        must_revalidate: rules.rfc9111 && forbids_stale(&control),
        source,
    })
}

fn validity(
    status: u16,
    fields: &Fields,
    control: &CacheControl,
    rules: &Rules,
    now: u64,
) -> Result<(u64, Source), Refusal> {
    if let Some(valid) = x_accel_expires(fields, rules, now) {
        return positive(valid, Refusal::XAccelExpires).map(|valid| (valid, Source::XAccelExpires));
    }
    if forbids_storing(control) {
        return Err(Refusal::CacheControl);
    }
    if let Some((seconds, source)) = lifetime(control) {
        let valid = seconds.saturating_mul(1000).saturating_sub(age_ms(fields, rules));
        return positive(valid, Refusal::Expired).map(|valid| (valid, source));
    }
    if let Some(valid) = expires(fields, rules, now) {
        return positive(valid, Refusal::Expired).map(|valid| (valid, Source::Expires));
    }
    if let Some(valid) = rules.valid_for(status) {
        return positive(valid, Refusal::NoValidity).map(|valid| (valid, Source::CacheValid));
    }
    let heuristic = if rules.rfc9111 { heuristic(status, fields, now) } else { 0 };
    positive(heuristic, Refusal::NoValidity).map(|valid| (valid, Source::Heuristic))
}

fn positive(valid_ms: u64, refusal: Refusal) -> Result<u64, Refusal> {
    if valid_ms == 0 { Err(refusal) } else { Ok(valid_ms) }
}

/// `X-Accel-Expires`: seconds, or `@` and seconds since the epoch; 0 forbids, and what is no number is passed over, as
/// in nginx. An absolute time that is over forbids too.
fn x_accel_expires(fields: &Fields, rules: &Rules, now: u64) -> Option<u64> {
    let value = fields.known(Known::XAccelExpires).filter(|_| !rules.ignore.x_accel_expires)?;
    if let Some(absolute) = value.strip_prefix(b"@") {
        return Some(digits(absolute)?.saturating_mul(1000).saturating_sub(now));
    }
    Some(digits(value)?.saturating_mul(1000))
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
fn lifetime(control: &CacheControl) -> Option<(u64, Source)> {
    let shared = control.s_maxage.map(|seconds| (seconds, Source::SMaxage));
    shared.or_else(|| control.max_age.map(|seconds| (seconds, Source::MaxAge)))
}

/// Ms until `Expires`; 0 where it is over or no date, `0` above all (RFC 9111 §5.3).
fn expires(fields: &Fields, rules: &Rules, now: u64) -> Option<u64> {
    let value = fields.known(Known::Expires).filter(|_| !rules.ignore.expires)?;
    let expires_ms = parse_http_date(value, now / 1000).unwrap_or(0).saturating_mul(1000);
    if !rules.rfc9111 {
        return Some(expires_ms.saturating_sub(now));
    }
    // By the origin's own clock (RFC 9111 §4.2.1), less what the answer has aged on its way.
    let lifetime = expires_ms.saturating_sub(date_ms(fields, now));
    Some(lifetime.saturating_sub(age_ms(fields, rules)))
}

/// What an answer has aged before it came here (RFC 9111 §4.2.3); nginx counts from the moment of arrival.
fn age_ms(fields: &Fields, rules: &Rules) -> u64 {
    let age = fields.known(Known::Age).filter(|_| rules.rfc9111);
    in_ms(age.and_then(digits))
}

fn date_ms(fields: &Fields, now: u64) -> u64 {
    let date = fields.known(Known::Date).and_then(|value| parse_http_date(value, now / 1000));
    date.map_or(now, |seconds| seconds.saturating_mul(1000))
}

/// RFC 9111 §4.2.2, for the statuses that RFC 9110 §15.1 lists.
fn heuristic(status: u16, fields: &Fields, now: u64) -> u64 {
    if !matches!(status, 200 | 203 | 204 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501) {
        return 0;
    }
    let modified = fields.known(Known::LastModified).and_then(|value| parse_http_date(value, now / 1000));
    let Some(modified) = modified else { return 0 };
    let untouched = date_ms(fields, now).saturating_sub(modified.saturating_mul(1000));
    (untouched / 10).min(HEURISTIC_MAX_MS)
}

fn forbids_stale(control: &CacheControl) -> bool {
    control.must_revalidate || control.proxy_revalidate || control.s_maxage.is_some()
}

fn in_ms(seconds: Option<u64>) -> u64 {
    seconds.unwrap_or(0).saturating_mul(1000)
}

#[cfg(test)]
mod tests;
