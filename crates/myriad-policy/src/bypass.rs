//! Decides whether a request may use the cache.
//!
//! `Cache-Control` or `Pragma` of the client never bypass the cache; otherwise, any client could cause work for the
//! origin.

use myriad_http::{Fields, Known, Method};

use crate::{CachePolicy, CacheStatus};

/// Facts that decide whether a request uses the cache.
#[derive(Clone, Copy, Debug)]
pub struct RequestFacts<'a> {
    /// Method of the client's request.
    pub method: Method,
    /// Header fields of the client's request.
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
    /// The request has a body, and its method is not POST. Such a body has no defined meaning (RFC 9110 §9.3.1), but
    /// the application may read it, and it is not part of the cache key.
    Body,
    /// The request has `Authorization`, which is not part of the cache key, and `cache_rfc9111` is off.
    Authorization,
    /// The request asks for an upgrade to another protocol than `h2c` (RFC 9110 §7.8).
    Upgrade,
    /// The request has a personal cookie (login, cart: `personal_cookies`) whose value is not part of the cache key.
    PersonalCookie,
    /// A `*_cache_bypass` condition is true.
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

    /// Returns the value of `$upstream_cache_status`; `None` if the method is not cached, where nginx leaves it empty.
    pub const fn status(self) -> Option<CacheStatus> {
        match self {
            BypassReason::Method => None,
            _ => Some(CacheStatus::Bypass),
        }
    }

    /// Returns whether the response may still be stored: only after [`BypassReason::Condition`], because
    /// `*_cache_bypass` only skips the lookup, as in nginx. All other reasons prevent lookup and storing.
    pub const fn may_store(self) -> bool {
        matches!(self, BypassReason::Condition)
    }
}

/// Returns the reason why this request must not use the cache; `None` if it may. Takes a few nanoseconds for a request
/// without `Cookie`.
pub fn bypass(request: &RequestFacts<'_>, rules: &CachePolicy) -> Option<BypassReason> {
    if !rules.methods.contains(request.method) {
        return Some(BypassReason::Method);
    }
    if request.has_body && request.method != Method::Post {
        return Some(BypassReason::Body);
    }
    // With `cache_rfc9111`, the response decides whether it may be shared (RFC 9111 §3.5); otherwise the request
    // bypasses.
    if request.fields.has(Known::Authorization) && !rules.authorization_in_key && !rules.rfc9111 {
        return Some(BypassReason::Authorization);
    }
    if request.fields.has(Known::Upgrade) && wants_upgrade(request.fields) {
        return Some(BypassReason::Upgrade);
    }
    if personal_cookie(request.fields, rules).is_some() {
        return Some(BypassReason::PersonalCookie);
    }
    request.cache_bypass.then_some(BypassReason::Condition)
}

/// Returns the name, as sent, of the first personal cookie of a request whose value is not part of the cache key;
/// `None` if it has none. All `Cookie` fields are checked, because HTTP/2 may split cookies into several (RFC 9113
/// §8.2.3).
pub fn personal_cookie<'a>(fields: &'a Fields, rules: &CachePolicy) -> Option<&'a [u8]> {
    fields.known_all(Known::Cookie).find_map(|cookies| {
        let first = rules.personal.matches_cookie_header(cookies)?;
        if rules.shared_fetch.keyed.is_empty() {
            return Some(first);
        }
        let pairs = cookies.split(|byte| *byte == b';');
        pairs
            .filter(|pair| !is_keyed(pair, rules))
            .find_map(|pair| rules.personal.matches_cookie_header(pair))
    })
}

/// Returns whether the cookie `pair` (`name=value`) of a request is part of the cache key. The key contains only the
/// first cookie of a name. A second cookie with the same name and a value that is in the key does no harm, because PHP
/// reads the first one, too.
fn is_keyed(pair: &[u8], rules: &CachePolicy) -> bool {
    rules.shared_fetch.has_in_key(pair.trim_ascii())
}

/// Returns whether the request asks for an upgrade to a protocol other than `h2c`. A server may ignore `h2c` (RFC 9110
/// §7.8), which some clients send by default.
fn wants_upgrade(fields: &Fields) -> bool {
    let protocols = fields.known_all(Known::Upgrade).flat_map(|value| value.split(|byte| *byte == b','));
    protocols.map(<[u8]>::trim_ascii).any(|name| !name.is_empty() && !name.eq_ignore_ascii_case(b"h2c"))
}

#[cfg(test)]
mod tests;
