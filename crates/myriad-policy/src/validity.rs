//! Parts that both calculations of freshness (nginx's and RFC 9111's) use: the result, and response fields.

use myriad_http::cache_control::CacheControl;
use myriad_http::{Fields, Known};

use crate::{CachePolicy, StoreRefusal};

/// Freshness of a response, and the stale periods that the origin allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// The response is fresh before this time, in ms since the epoch. It may be in the past: with an absolute
    /// `X-Accel-Expires`, or if RFC 9111 allows storing a response only for validation.
    pub fresh_until: u64,
    /// Validity from now, in ms; 0 if the response is already expired.
    pub valid_ms: u64,
    /// `stale-while-revalidate` (RFC 5861 §3): time after `fresh_until`, in ms; 0 if not set.
    pub stale_while_revalidate_ms: u64,
    /// `stale-if-error` (RFC 5861 §4): time after `fresh_until`, in ms; at least `stale_while_revalidate_ms`, as in
    /// nginx.
    pub stale_if_error_ms: u64,
    /// True if the response must never be served stale: under `cache_rfc9111` by RFC 9111 §5.2.2.2, §5.2.2.4, §5.2.2.8
    /// or §5.2.2.10, or because it is stored by `*_cache_negative`.
    pub must_revalidate: bool,
    /// Field or directive that defined the validity.
    pub source: ValiditySource,
    /// Estimated time when the origin generated the response, in ms since the epoch (RFC 9111 §4.2.3). Under
    /// `cache_rfc9111` always `Some`, except by `*_cache_negative`; otherwise only if the response has `Age`. `None`
    /// stands for the time of arrival.
    pub born: Option<u64>,
}

/// Response field or directive that defined a validity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValiditySource {
    /// `X-Accel-Expires`.
    XAccelExpires,
    /// `Surrogate-Control` or `X-LiteSpeed-Cache-Control`, if support for them is announced to the origin.
    Accelerator,
    /// `Cache-Control: s-maxage` (RFC 9111 §5.2.2.10).
    SMaxage,
    /// `Cache-Control: max-age` (RFC 9111 §5.2.2.1).
    MaxAge,
    /// `Expires` (RFC 9111 §5.3).
    Expires,
    /// `*_cache_valid` or `*_cache_negative`.
    CacheValid,
    /// A tenth of the time since `Last-Modified` (RFC 9111 §4.2.2), or 0 for a response that is stored only to be
    /// validated; only under `cache_rfc9111`.
    Heuristic,
    /// `*_cache_adaptive`, which shortened the validity of the response.
    Adaptive,
}

impl ValiditySource {
    /// Returns whether the validity is meant only for accelerators; `Cache-Control` and `Expires` then do not define
    /// it.
    pub(crate) const fn is_for_accelerators(self) -> bool {
        matches!(self, ValiditySource::XAccelExpires | ValiditySource::Accelerator)
    }

    /// Returns whether the response itself defines the validity, rather than the configuration or a heuristic. True
    /// also for [`ValiditySource::Adaptive`].
    pub const fn is_from_response(self) -> bool {
        !matches!(self, ValiditySource::CacheValid | ValiditySource::Heuristic)
    }
}

/// Returns the expiry by `X-Accel-Expires`, in ms since the epoch. The value is a number of seconds, or `@` and seconds
/// since the epoch. 0 is an error: the response is not stored. A time in the past is returned, so that the response is
/// stored as expired, as in nginx. `None` if the field is missing, ignored or invalid.
pub(crate) fn x_accel_expires(
    fields: &Fields,
    rules: &CachePolicy,
    now: u64,
) -> Option<Result<u64, StoreRefusal>> {
    let value = fields.known(Known::XAccelExpires).filter(|_| !rules.ignore.x_accel_expires)?;
    if let Some(absolute) = value.strip_prefix(b"@") {
        return Some(Ok(digits(absolute)?.saturating_mul(1000)));
    }
    let valid = digits(value)?.saturating_mul(1000);
    Some(positive(valid, StoreRefusal::XAccelExpires).map(|valid| now.saturating_add(valid)))
}

/// Parses a number that consists only of decimal digits; `None` for any other text. A number above `u64::MAX` saturates
/// (RFC 9111 §1.2.2).
fn digits(value: &[u8]) -> Option<u64> {
    let number = |sum: u64, byte: &u8| sum.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
    (!value.is_empty() && value.iter().all(u8::is_ascii_digit)).then(|| value.iter().fold(0, number))
}

/// Returns whether `Cache-Control` has `private`, with or without field names.
pub(crate) fn is_private(control: &CacheControl) -> bool {
    control.private || !control.private_fields.is_empty()
}

/// Returns `s-maxage`, or else `max-age` (RFC 9111 §4.2.1, for a shared cache), in seconds; `None` without either.
pub(crate) fn lifetime(control: &CacheControl) -> Option<(u64, ValiditySource)> {
    let shared = control.s_maxage.map(|seconds| (seconds, ValiditySource::SMaxage));
    shared.or_else(|| control.max_age.map(|seconds| (seconds, ValiditySource::MaxAge)))
}

/// Returns the validity in ms, or the error `refusal` if it is 0.
pub(crate) fn positive(valid_ms: u64, refusal: StoreRefusal) -> Result<u64, StoreRefusal> {
    if valid_ms == 0 { Err(refusal) } else { Ok(valid_ms) }
}
