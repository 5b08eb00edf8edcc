//! Decides whether an origin's response may be stored.

use myriad_http::cache_control::CacheControl;
use myriad_http::{Fields, Known, Method};

use crate::freshness::freshness;
use crate::request_status::is_request_error;
use crate::validity::{Freshness, ValiditySource, is_private};
use crate::{CachePolicy, StoreRefusal, VaryError, VaryRule, rfc9111};

/// Facts about a response and its request that decide whether the response is stored in the cache.
#[derive(Clone, Copy, Debug)]
pub struct ResponseFacts<'a> {
    /// Status of the response.
    pub status: u16,
    /// Response header fields, as sent by the origin.
    pub fields: &'a Fields,
    /// Method sent to the origin, after `proxy_cache_convert_head`.
    pub method: Method,
    /// True if the client's request has `Authorization`.
    pub authorization: bool,
    /// True if the request to the origin had a personal cookie (login, cart: `personal_cookies`).
    pub personal: bool,
    /// True if the request has `Cookie` and the origin received it unmodified, so that it may contain cookies outside
    /// the cache key.
    pub cookies: bool,
    /// True if a `*_no_cache` condition is neither empty nor `0` or cannot be evaluated, or the response redirects
    /// internally (`X-Accel-Redirect`).
    pub no_cache: bool,
    /// True if the response is the slice that the cache key names (`slice`), so that a 206 is stored as a page of its
    /// own.
    pub piece: bool,
    /// Number of requests with the cache key so far, including this request (`*_cache_min_uses`); `u64::MAX` if the
    /// caller has already compared it with the limit.
    pub uses: u64,
    /// True if a page with a status below 500, fresh or stale, is stored for this request; its grace period does not
    /// matter.
    pub usable_page: bool,
    /// True if [`is_large_request`](crate::is_large_request) is true for the client's request.
    pub large_request: bool,
    /// Time between the request to the origin and the response head, in ms (RFC 9111 §4.2.3).
    pub delay_ms: u64,
}

/// Decision whether a response is stored in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The response is stored with this lifetime, without the fields that [`StoredFields`](crate::StoredFields) drops.
    Store(Lifetime),
    /// The response is not stored, and requests waiting for it stop waiting.
    Refuse(StoreRefusal),
}

/// Validity of a stored page. Times are in ms since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// The page is fresh before this time, in ms since the epoch. The time may be in the past even for a newly stored
    /// page (`X-Accel-Expires`, `cache_rfc9111`).
    pub fresh_until: u64,
    /// Before this time (ms since the epoch), the origin allows the stale page during a refresh
    /// (`stale-while-revalidate`); equal to `fresh_until` if it does not.
    pub stale_updating_until: u64,
    /// Before this time (ms since the epoch), the origin allows the stale page after a failed refresh
    /// (`stale-if-error`). At least `stale_updating_until`; equal to `fresh_until` if the origin allows neither.
    pub stale_error_until: u64,
    /// True if the page must never be served stale.
    pub must_revalidate: bool,
    /// Validity when the page was stored or last validated, in ms. A 304 without a validity renews the page for this
    /// time.
    pub valid_ms: u64,
    /// Field or directive that defined the validity.
    pub source: ValiditySource,
    /// Time when the origin generated the page, in ms since the epoch, to calculate `Age`; `None` if it was the time
    /// when the response arrived.
    pub born: Option<u64>,
}

impl Lifetime {
    /// Returns this lifetime after a soft purge at `at` (ms since the epoch): a page that would be fresh longer expires
    /// at `at`. The lengths of the stale periods do not change.
    #[must_use]
    pub fn expired_by(&self, at: u64) -> Lifetime {
        self.moved(self.fresh_until.min(at))
    }

    /// Returns this lifetime with all times moved by `ms`, to convert it for a clock that differs by `ms`. A time of 0
    /// means "never" and does not change.
    #[must_use]
    pub fn shifted(&self, ms: i64) -> Lifetime {
        let shifted = |time: u64| if time == 0 { 0 } else { time.saturating_add_signed(ms) };
        Lifetime {
            fresh_until: shifted(self.fresh_until),
            stale_updating_until: shifted(self.stale_updating_until),
            stale_error_until: shifted(self.stale_error_until),
            born: self.born.map(shifted),
            ..*self
        }
    }

    /// Returns this lifetime restarted at `now`: fresh for `valid_ms`, and then stale periods of the same lengths. A
    /// known time of generation becomes `now`.
    fn renewed(&self, now: u64) -> Lifetime {
        Lifetime { born: self.born.map(|_| now), ..self.moved(now.saturating_add(self.valid_ms)) }
    }

    fn moved(&self, fresh_until: u64) -> Lifetime {
        let moved = |until: u64| fresh_until.saturating_add(until.saturating_sub(self.fresh_until));
        Lifetime {
            fresh_until,
            stale_updating_until: moved(self.stale_updating_until),
            stale_error_until: moved(self.stale_error_until),
            ..*self
        }
    }
}

/// Decides whether a response is stored, and for how long. `now` is in ms since the epoch.
///
/// Rules that protect visitors' personal data are checked first. Any other refusal, except [`StoreRefusal::Method`],
/// therefore implies that none of these rules applies.
pub fn admit(response: &ResponseFacts<'_>, rules: &CachePolicy, now: u64) -> Admission {
    lifetime(response, rules, now).map_or_else(Admission::Refuse, Admission::Store)
}

/// Decides about a stored page after a 304 to a conditional refresh (RFC 9111 §4.3.4, `*_cache_revalidate`): `Store`
/// with its new lifetime, or a refusal.
///
/// `response` contains the fields of the 304 and the status of the stored page; its `no_cache`, `uses` and
/// `usable_page` are ignored. A 304 without a validity renews the original validity of the page, unless that was not
/// from its fields and `*_cache_valid` or a heuristic defines a new one. After a refusal the page remains expired.
/// nginx still serves it to this request, which is correct unless the refusal [protects
/// visitors](StoreRefusal::protects_visitors).
pub fn revalidated(
    response: &ResponseFacts<'_>,
    stored: &Lifetime,
    rules: &CachePolicy,
    now: u64,
) -> Admission {
    let confirmed = ResponseFacts { no_cache: false, uses: u64::MAX, usable_page: false, ..*response };
    match admit(&confirmed, rules, now) {
        Admission::Store(own) if own.source.is_from_response() || !stored.source.is_from_response() => {
            Admission::Store(own)
        }
        Admission::Store(_) | Admission::Refuse(StoreRefusal::NoValidity) => {
            Admission::Store(stored.renewed(now))
        }
        refused @ Admission::Refuse(_) => refused,
    }
}

fn lifetime(response: &ResponseFacts<'_>, rules: &CachePolicy, now: u64) -> Result<Lifetime, StoreRefusal> {
    protects_visitors(response, rules)?;
    let piece = response.status == 206 && response.piece;
    if !piece && !is_whole_page(response.status) {
        return Err(StoreRefusal::Status);
    }
    if response.no_cache {
        return Err(StoreRefusal::NoCache);
    }
    if response.large_request && (400..500).contains(&response.status) {
        return Err(StoreRefusal::LargeRequest);
    }
    let freshness = match freshness(response.status, response.fields, rules, now, response.delay_ms) {
        Err(_) if is_request_error(response.status) => return Err(StoreRefusal::RequestError),
        Err(why) => negative(response.status, why, rules, now)?,
        Ok(freshness) => freshness,
    };
    if response.status >= 500 && response.usable_page {
        return Err(StoreRefusal::ServerError);
    }
    if response.uses < rules.min_uses {
        return Err(StoreRefusal::MinUses);
    }
    let fresh_until = freshness.fresh_until;
    Ok(Lifetime {
        fresh_until,
        stale_updating_until: fresh_until.saturating_add(freshness.stale_while_revalidate_ms),
        stale_error_until: fresh_until.saturating_add(freshness.stale_if_error_ms),
        must_revalidate: freshness.must_revalidate,
        valid_ms: freshness.valid_ms,
        source: freshness.source,
        born: freshness.born,
    })
}

/// Returns the validity by `*_cache_negative` for a response with a listed status whose `Cache-Control` forbids
/// storing, that is expired, or that has no validity; otherwise returns the refusal `why`.
///
/// The page is never served stale, so that a page published later at the URL appears as soon as the validity expires.
/// `X-Accel-Expires: 0`, and a `Surrogate-Control` or `X-LiteSpeed-Cache-Control` that forbids storing, still prevent
/// it. Rules that protect visitors, including `private`, are checked before.
fn negative(
    status: u16,
    why: StoreRefusal,
    rules: &CachePolicy,
    now: u64,
) -> Result<Freshness, StoreRefusal> {
    let listed = rules.negative.iter().find(|(code, ms)| *code == status && *ms > 0);
    let (Some((_, valid_ms)), StoreRefusal::CacheControl | StoreRefusal::Expired | StoreRefusal::NoValidity) =
        (listed, why)
    else {
        return Err(why);
    };
    Ok(Freshness {
        fresh_until: now.saturating_add(*valid_ms),
        valid_ms: *valid_ms,
        stale_while_revalidate_ms: 0,
        stale_if_error_ms: 0,
        must_revalidate: true,
        source: ValiditySource::CacheValid,
        born: None,
    })
}

/// Returns whether a response's LiteSpeed fields forbid sharing it: it is private or uncacheable, or has
/// `X-LiteSpeed-Vary`, which names a cookie for groups of visitors. The cache key is not checked for this cookie.
fn is_litespeed_private(fields: &Fields) -> bool {
    if fields.has(Known::XLiteSpeedVary) {
        return true;
    }
    let control = CacheControl::parse(fields.known_all(Known::XLiteSpeedCacheControl));
    control.no_store || control.no_cache || is_private(&control)
}

/// Checks all rules that keep a response for one visitor from being served to others: method, personal cookies
/// of the request, `private` (also LiteSpeed's fields), `Authorization`, `Set-Cookie`, `Vary`.
fn protects_visitors(response: &ResponseFacts<'_>, rules: &CachePolicy) -> Result<(), StoreRefusal> {
    let fields = response.fields;
    if response.method == Method::Head || !rules.methods.contains(response.method) {
        return Err(StoreRefusal::Method);
    }
    if response.personal {
        return Err(StoreRefusal::PersonalRequest);
    }
    let control = if rules.rfc9111 {
        rfc9111::EffectiveControl::of(fields).control
    } else {
        CacheControl::parse(fields.known_all(Known::CacheControl))
    };
    if is_private(&control) || is_litespeed_private(fields) {
        return Err(StoreRefusal::Private);
    }
    if response.authorization && !rules.authorization_in_key && !allows_sharing(&control) {
        return Err(StoreRefusal::Authorization);
    }
    if fields.known_all(Known::SetCookie).any(|value| rules.personal.matches_set_cookie(value).is_some()) {
        return Err(StoreRefusal::PersonalCookie);
    }
    if fields.has(Known::SetCookie) && !rules.ignore.set_cookie && !may_drop_cookie(response, rules) {
        return Err(StoreRefusal::SetCookie);
    }
    if rules.ignore.vary {
        return Ok(());
    }
    match VaryRule::of(fields, rules) {
        Ok(_) => Ok(()),
        Err(VaryError::Any | VaryError::TooLong) => Err(StoreRefusal::Vary),
    }
}

/// Returns whether a response with `Set-Cookie` may be stored without its cookies: each matches `impersonal_cookies`,
/// and the request to the origin had no cookie outside the cache key, so that the response belongs to no particular
/// visitor. RFC 9111 §7.3 leaves storing such a response to `Cache-Control`.
fn may_drop_cookie(response: &ResponseFacts<'_>, rules: &CachePolicy) -> bool {
    !response.cookies && response.fields.known_all(Known::SetCookie).all(|value| rules.impersonal.sets(value))
}

/// Returns whether a response that was not stored invalidates the stored page: its status is 2xx to 4xx, and the reason
/// against storing applies to all visitors.
///
/// `of_the_answer` is true if a [`StoreRefusal::NoCache`] is due to a condition that depends only on the response.
/// `own` is true if the request bypassed the cache by a condition or had `Authorization`: the response may then be
/// specific to the visitor, and only 404 and 410 invalidate, because they mean that the page does not exist.
///
/// Statuses about errors in the request ([`is_request_error`], and 406, 408, 421, 422, 425, 426, 428, 429: RFC 9110
/// §15.5, RFC 6585) never invalidate. Otherwise, any client could remove a page for all by sending such a request.
pub fn invalidates_stored_page(status: u16, refusal: StoreRefusal, of_the_answer: bool, own: bool) -> bool {
    let finds_fault =
        is_request_error(status) || matches!(status, 406 | 408 | 421 | 422 | 425 | 426 | 428 | 429);
    if !(200..500).contains(&status) || finds_fault {
        return false;
    }
    let of_the_page = refusal.concerns_page() || of_the_answer && refusal == StoreRefusal::NoCache;
    of_the_page && (!own || matches!(status, 404 | 410))
}

/// Returns whether `Cache-Control` permits sharing a response to a request with `Authorization`: it has `public`,
/// `s-maxage` or `must-revalidate` (RFC 9111 §3.5).
fn allows_sharing(control: &CacheControl) -> bool {
    control.public || control.s_maxage.is_some() || control.must_revalidate
}

/// Returns whether the status is final (200 to 599) and neither a partial response nor a 304 (RFC 9111 §3).
fn is_whole_page(status: u16) -> bool {
    (200..600).contains(&status) && status != 206 && status != 304
}

#[cfg(test)]
mod tests;
