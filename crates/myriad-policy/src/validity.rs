//! The common ground of judging freshness: its result, and the fields of an answer that every way of judging reads.

use myriad_http::cache_control::CacheControl;
use myriad_http::{Fields, Known};

use crate::{Refusal, Rules};

/// How long an answer is fresh, and how long it may serve stale by the origin's own word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// Fresh before this time, in ms since the epoch. It may be over: an absolute `X-Accel-Expires` of the past, or what
    /// RFC 9111 lets be stored only to be confirmed.
    pub fresh_until: u64,
    /// The time of freshness that is left, in ms from now; 0 where it is over.
    pub valid_ms: u64,
    /// `stale-while-revalidate` (RFC 5861 §3), in ms behind the validity.
    pub stale_while_revalidate_ms: u64,
    /// `stale-if-error` (RFC 5861 §4), in ms behind the validity; at least the former, as in nginx.
    pub stale_if_error_ms: u64,
    /// Whether stale service is forbidden (RFC 9111 §5.2.2.2, §5.2.2.4, §5.2.2.8, §5.2.2.10); only under `cache_rfc9111`.
    pub must_revalidate: bool,
    /// The source of the validity.
    pub source: Source,
    /// When the answer was made at the origin, in ms since the epoch, as far as can be told (RFC 9111 §4.2.3): under
    /// `cache_rfc9111` always, else where the answer says its age. For others it is the time when it came.
    pub born: Option<u64>,
}

/// The origin of a validity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// `X-Accel-Expires`.
    XAccelExpires,
    /// `Surrogate-Control` or `X-LiteSpeed-Cache-Control`, where it is announced that they are obeyed.
    Accelerator,
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
    /// Whether the origin said it to accelerators alone, so that what it says to browsers does not count.
    pub(crate) const fn is_for_accelerators(self) -> bool {
        matches!(self, Source::XAccelExpires | Source::Accelerator)
    }

    /// Whether the answer itself gave the validity, rather than the configuration or a guess.
    pub const fn is_the_answer(self) -> bool {
        !matches!(self, Source::CacheValid | Source::Heuristic)
    }
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

/// `private`, with field names or without.
pub(crate) fn is_private(control: &CacheControl) -> bool {
    control.private || !control.private_fields.is_empty()
}

/// A shared cache prefers `s-maxage` (RFC 9111 §4.2.1).
pub(crate) fn lifetime(control: &CacheControl) -> Option<(u64, Source)> {
    let shared = control.s_maxage.map(|seconds| (seconds, Source::SMaxage));
    shared.or_else(|| control.max_age.map(|seconds| (seconds, Source::MaxAge)))
}

/// A validity of 0 refuses the answer.
pub(crate) fn positive(valid_ms: u64, refusal: Refusal) -> Result<u64, Refusal> {
    if valid_ms == 0 { Err(refusal) } else { Ok(valid_ms) }
}
