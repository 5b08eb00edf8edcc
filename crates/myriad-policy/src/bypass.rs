//! Decides whether a request may use the cache.
//!
//! `Cache-Control` or `Pragma` of the client never bypass the cache. Otherwise, any client could cause work for the
//! origin.

use myriad_http::{Fields, Known, Method};

use crate::{CachePolicy, CacheStatus};

/// Facts that decide whether a request uses the cache.
#[derive(Clone, Copy, Debug)]
pub struct RequestFacts<'a> {
    /// Method of the client.
    pub method: Method,
    /// Header fields of the client.
    pub fields: &'a Fields,
    /// True if the request has a body.
    pub has_body: bool,
    /// True if a `*_cache_bypass` condition is neither empty nor `0`.
    pub cache_bypass: bool,
}

/// Reason why a request does not use the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BypassReason {
    /// The method is not in `*_cache_methods`.
    Method,
    /// The request has a body, which has no defined meaning for GET or HEAD (RFC 9110 §9.3.1). The application may use
    /// it, and it is not part of the key.
    Body,
    /// The request has `Authorization`, which is not part of the key.
    Authorization,
    /// The request is an upgrade to another protocol on this connection (RFC 9110 §7.8).
    Upgrade,
    /// The request has a personal cookie.
    PersonalCookie,
    /// `*_cache_bypass`.
    Condition,
}

impl BypassReason {
    /// Returns a word for logs and explanations.
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

    /// Returns `$upstream_cache_status`. As in nginx, it is empty if the method is not cached.
    pub const fn status(self) -> Option<CacheStatus> {
        match self {
            BypassReason::Method => None,
            _ => Some(CacheStatus::Bypass),
        }
    }

    /// Returns whether the response may still be stored. `*_cache_bypass` only skips the lookup, as documented by
    /// nginx, and `*_no_cache` prevents storing. All other reasons prevent both.
    pub const fn may_store(self) -> bool {
        matches!(self, BypassReason::Condition)
    }
}

/// Returns the reason why this request must not use the cache; `None` if it may. Takes a few nanoseconds without a
/// `Cookie`.
pub fn bypass(request: &RequestFacts<'_>, rules: &CachePolicy) -> Option<BypassReason> {
    if !rules.methods.contains(request.method) {
        return Some(BypassReason::Method);
    }
    if request.has_body && request.method != Method::Post {
        return Some(BypassReason::Body);
    }
    // By RFC 9111 §3.5, the response may allow sharing. Without `cache_rfc9111`, such requests always bypass the cache.
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

/// Returns whether the request has a personal cookie. HTTP/2 sends cookies in several fields (RFC 9113 §8.2.3), so all
/// are checked.
fn carries_personal_cookie(fields: &Fields, rules: &CachePolicy) -> bool {
    fields.known_all(Known::Cookie).any(|cookies| rules.personal.matches_cookie_header(cookies).is_some())
}

/// Returns whether the request is an upgrade. `h2c` alone may be ignored (RFC 9110 §7.8), and some clients send it by
/// default.
fn wants_upgrade(fields: &Fields) -> bool {
    let protocols = fields.known_all(Known::Upgrade).flat_map(|value| value.split(|byte| *byte == b','));
    protocols.map(<[u8]>::trim_ascii).any(|name| !name.is_empty() && !name.eq_ignore_ascii_case(b"h2c"))
}

#[cfg(test)]
mod tests;
