//! Whether a request may use the cache at all.
//!
//! A visitor's own `Cache-Control` or `Pragma` never bypasses: anyone could make the origin work by sending it.

use myriad_http::{Fields, Known, Method};

use crate::{CacheStatus, Rules};

/// The facts that decide whether a request uses the cache.
#[derive(Clone, Copy, Debug)]
pub struct RequestFacts<'a> {
    /// The visitor's method.
    pub method: Method,
    /// The visitor's fields.
    pub fields: &'a Fields,
    /// Whether the request has a body.
    pub has_body: bool,
    /// Whether one of `*_cache_bypass` is neither empty nor `0`.
    pub cache_bypass: bool,
}

/// Why a request does not use the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BypassReason {
    /// The method is not among `*_cache_methods`.
    Method,
    /// The request has a body that a GET or HEAD has no use for (RFC 9110 §9.3.1): the application may heed it, and the
    /// key does not tell it.
    Body,
    /// The request has `Authorization` and the key does not hold it.
    Authorization,
    /// The request wants another protocol on this connection (RFC 9110 §7.8).
    Upgrade,
    /// The request carries a personal cookie.
    PersonalCookie,
    /// `*_cache_bypass`.
    Condition,
}

impl BypassReason {
    /// A word for logs and explanations.
    pub const fn as_str(self) -> &'static str {
        match self {
            BypassReason::Method => "method",
            BypassReason::Body => "body",
            BypassReason::Authorization => "authorization",
            BypassReason::Upgrade => "upgrade",
            BypassReason::PersonalCookie => "personal cookie",
            BypassReason::Condition => "cache_bypass",
        }
    }

    /// `$upstream_cache_status`: nginx leaves it empty where the method is not a cached one.
    pub const fn status(self) -> Option<CacheStatus> {
        match self {
            BypassReason::Method => None,
            _ => Some(CacheStatus::Bypass),
        }
    }

    /// Whether the answer may still be stored: `*_cache_bypass` skips only the look-up, as nginx documents; `*_no_cache`
    /// is what keeps the answer out. All other bypasses neither read nor fill.
    pub const fn may_store(self) -> bool {
        matches!(self, BypassReason::Condition)
    }
}

/// Why this request must not use the cache; `None` where it may. Costs some nanoseconds without a `Cookie`.
pub fn bypass(request: &RequestFacts<'_>, rules: &Rules) -> Option<BypassReason> {
    if !rules.methods.contains(request.method) {
        return Some(BypassReason::Method);
    }
    if request.has_body && request.method != Method::Post {
        return Some(BypassReason::Body);
    }
    // RFC 9111 §3.5 lets the answer itself say whether it is for everyone; without it the safe side holds.
    if request.fields.has(Known::Authorization) && !rules.authorization_in_key && !rules.rfc9111 {
        return Some(BypassReason::Authorization);
    }
    if request.fields.has(Known::Upgrade) && wants_upgrade(request.fields) {
        return Some(BypassReason::Upgrade);
    }
    if carries_personal_cookie(request.fields, rules) {
        return Some(BypassReason::PersonalCookie);
    }
    request.cache_bypass.then_some(BypassReason::Condition)
}

/// HTTP/2 sends the cookies in several fields (RFC 9113 §8.2.3), so that all are looked at.
fn carries_personal_cookie(fields: &Fields, rules: &Rules) -> bool {
    fields.known_all(Known::Cookie).any(|cookies| rules.personal.matches_cookie_header(cookies).is_some())
}

/// An offer of `h2c` alone may be ignored (RFC 9110 §7.8), and clients make it by habit.
fn wants_upgrade(fields: &Fields) -> bool {
    let protocols = fields.known_all(Known::Upgrade).flat_map(|value| value.split(|byte| *byte == b','));
    protocols.map(<[u8]>::trim_ascii).any(|name| !name.is_empty() && !name.eq_ignore_ascii_case(b"h2c"))
}

#[cfg(test)]
mod tests;
