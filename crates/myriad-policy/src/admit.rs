//! Whether an origin's answer may be stored.

use myriad_http::cache_control::CacheControl;
use myriad_http::{Fields, Known, Method};

use crate::freshness::freshness;
use crate::request_status::is_of_the_request;
use crate::validity::{Freshness, Source, is_private};
use crate::{Refusal, Rules, UseStale, VaryError, VaryRule, rfc9111};

/// The facts that decide whether an answer is stored.
#[derive(Clone, Copy, Debug)]
pub struct ResponseFacts<'a> {
    /// The status of the answer.
    pub status: u16,
    /// The fields of the answer, as the origin sent them.
    pub fields: &'a Fields,
    /// The method that the origin was asked with, after `proxy_cache_convert_head`.
    pub method: Method,
    /// Whether the request that was sent had `Authorization`.
    pub authorization: bool,
    /// Whether the request that was sent carried a personal cookie.
    pub personal: bool,
    /// Whether the request that was sent carried a cookie that the key does not hold.
    pub cookies: bool,
    /// Whether one of `*_no_cache` is neither empty nor `0`.
    pub no_cache: bool,
    /// Whether the answer is a piece (206) whose range stands in the key (`slice`), so that it is a page of its own.
    pub piece: bool,
    /// How many requests there were for the key, this one included.
    pub uses: u64,
    /// Whether a page of a status below 500 is stored under the key, fresh or within its grace.
    pub usable_page: bool,
    /// Whether the request that was sent is one of [`is_large_request`](crate::is_large_request).
    pub large_request: bool,
    /// How long the head took to come, in ms (RFC 9111 §4.2.3).
    pub delay_ms: u64,
}

/// The verdict on an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is stored, without the fields that [`StoredFields`](crate::StoredFields) drops.
    Store(Lifetime),
    /// It is not stored, and the waiters are freed at once.
    Refuse(Refusal),
}

/// How long a stored page is of use. Times are ms since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// Fresh before this time, which may be over when the page is stored.
    pub fresh_until: u64,
    /// Before this time the origin lets it serve stale while it is refreshed (`stale-while-revalidate`).
    pub stale_updating_until: u64,
    /// Before this time the origin lets it serve stale when a refresh fails (`stale-if-error`).
    pub stale_error_until: u64,
    /// Whether nothing lets it serve stale; only under `cache_rfc9111`.
    pub must_revalidate: bool,
    /// The validity it was given, in ms.
    pub valid_ms: u64,
    /// The source of the validity.
    pub source: Source,
    /// When the page was made at the origin, in ms since the epoch, for `Age`; `None` where that is when it came.
    pub born: Option<u64>,
}

impl Lifetime {
    /// The time, in ms since the epoch, after which no rule lets this page be served or confirmed any more, so that it
    /// may go before `inactive` takes it.
    pub fn useful_until(&self, rules: &Rules) -> u64 {
        let by_origin = self.stale_error_until.max(self.stale_updating_until);
        let only_updating = UseStale { updating: true, ..UseStale::default() };
        let grace_ms = match rules.use_stale {
            // A page that the origin can confirm is of use at any time.
            _ if rules.revalidate => u64::MAX,
            stale if stale == UseStale::default() => 0,
            stale if stale == only_updating => rules.grace.refresh_ms,
            UseStale { updating: true, .. } => rules.grace.refresh_ms.max(rules.grace.failure_ms),
            _ => rules.grace.failure_ms,
        };
        self.fresh_until.saturating_add(grace_ms).max(by_origin)
    }

    /// The lifetime of a page whose freshness has ended at `at`, in ms since the epoch, where that was before its time: by a
    /// soft purge. The spans behind it are as long as they were.
    #[must_use]
    pub fn ended_by(&self, at: u64) -> Lifetime {
        self.moved(self.fresh_until.min(at))
    }

    /// Returns this lifetime by a clock that is `ms` ahead. 0 stays 0: it is no time.
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

    /// This lifetime with its spans counted from `now`.
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

/// Whether the answer is stored, and for how long; `now` in ms since the epoch.
///
/// Rules that protect visitors are asked first, so that any other reason means that nothing personal was found.
pub fn admit(response: &ResponseFacts<'_>, rules: &Rules, now: u64) -> Admission {
    lifetime(response, rules, now).map_or_else(Admission::Refuse, Admission::Store)
}

/// The lifetime that a 304 to a conditional refresh gives the stored page (RFC 9111 §4.3.4, `*_cache_revalidate`).
///
/// `response` holds the fields of the 304 and the status of the stored page; its `no_cache`, `uses` and `usable_page` play
/// no part. A 304 that says nothing of time renews what the page was given at first. After a refusal the page is as
/// expired as it was: nginx still serves it to this one request, which is right unless the refusal
/// [protects visitors](Refusal::protects_visitors).
pub fn revalidated(response: &ResponseFacts<'_>, stored: &Lifetime, rules: &Rules, now: u64) -> Admission {
    let confirmed = ResponseFacts { no_cache: false, uses: u64::MAX, usable_page: false, ..*response };
    match admit(&confirmed, rules, now) {
        Admission::Store(own) if own.source.is_the_answer() || !stored.source.is_the_answer() => {
            Admission::Store(own)
        }
        Admission::Store(_) | Admission::Refuse(Refusal::NoValidity) => Admission::Store(stored.renewed(now)),
        refused @ Admission::Refuse(_) => refused,
    }
}

fn lifetime(response: &ResponseFacts<'_>, rules: &Rules, now: u64) -> Result<Lifetime, Refusal> {
    protects_visitors(response, rules)?;
    let piece = response.status == 206 && response.piece;
    if !piece && !is_whole_page(response.status) {
        return Err(Refusal::Status);
    }
    if response.no_cache {
        return Err(Refusal::NoCache);
    }
    if response.large_request && (400..500).contains(&response.status) {
        return Err(Refusal::LargeRequest);
    }
    let freshness = match freshness(response.status, response.fields, rules, now, response.delay_ms) {
        Err(_) if is_of_the_request(response.status) => return Err(Refusal::RequestError),
        Err(why) => negative(response.status, why, rules, now)?,
        Ok(freshness) => freshness,
    };
    if response.status >= 500 && response.usable_page {
        return Err(Refusal::ServerError);
    }
    if response.uses < rules.min_uses {
        return Err(Refusal::MinUses);
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

/// The validity that `*_cache_negative` gives an answer which says that it is not to be stored, or nothing of time. Never
/// served stale: a page that is published at its address shows as soon as the validity is over. An accelerator's own `X-Accel-Expires: 0` is
/// obeyed; the rules that protect visitors, `private` among them, were asked before.
fn negative(status: u16, why: Refusal, rules: &Rules, now: u64) -> Result<Freshness, Refusal> {
    let listed = rules.negative.iter().find(|(code, ms)| *code == status && *ms > 0);
    let (Some((_, valid_ms)), Refusal::CacheControl | Refusal::Expired | Refusal::NoValidity) = (listed, why)
    else {
        return Err(why);
    };
    Ok(Freshness {
        fresh_until: now.saturating_add(*valid_ms),
        valid_ms: *valid_ms,
        stale_while_revalidate_ms: 0,
        stale_if_error_ms: 0,
        must_revalidate: true,
        source: Source::CacheValid,
        born: None,
    })
}

/// Whether an application that takes this cache for LiteSpeed's says there that a page is one visitor's, or of a group
/// of them that a cookie tells apart: the key knows nothing of that cookie.
fn is_private_to_litespeed(fields: &Fields) -> bool {
    if fields.has(Known::XLiteSpeedVary) {
        return true;
    }
    let control = CacheControl::parse(fields.known_all(Known::XLiteSpeedCacheControl));
    control.no_store || control.no_cache || is_private(&control)
}

/// The rules that keep one visitor's page from another, and `Vary`, which does the same.
fn protects_visitors(response: &ResponseFacts<'_>, rules: &Rules) -> Result<(), Refusal> {
    let fields = response.fields;
    if response.method == Method::Head || !rules.methods.contains(response.method) {
        return Err(Refusal::Method);
    }
    if response.personal {
        return Err(Refusal::PersonalRequest);
    }
    let control = if rules.rfc9111 {
        rfc9111::Control::of(fields).control
    } else {
        CacheControl::parse(fields.known_all(Known::CacheControl))
    };
    if is_private(&control) || is_private_to_litespeed(fields) {
        return Err(Refusal::Private);
    }
    if response.authorization && !rules.authorization_in_key && !allows_sharing(&control) {
        return Err(Refusal::Authorization);
    }
    if fields.known_all(Known::SetCookie).any(|value| rules.personal.matches_set_cookie(value).is_some()) {
        return Err(Refusal::PersonalCookie);
    }
    if fields.has(Known::SetCookie) && !rules.ignore.set_cookie && !may_be_left_out(response, rules) {
        return Err(Refusal::SetCookie);
    }
    if rules.ignore.vary {
        return Ok(());
    }
    match VaryRule::of(fields, rules) {
        Ok(_) => Ok(()),
        Err(VaryError::Any | VaryError::TooLong) => Err(Refusal::Vary),
    }
}

/// Whether the cookies of an answer may be left out of its stored page: `impersonal_cookies` names each of them, and the origin was
/// told no cookie, so that the answer was made for nobody in particular (RFC 9111 §7.3 leaves it to `Cache-Control` whether an
/// answer with `Set-Cookie` is stored).
fn may_be_left_out(response: &ResponseFacts<'_>, rules: &Rules) -> bool {
    !response.cookies && response.fields.known_all(Known::SetCookie).all(|value| rules.impersonal.sets(value))
}

/// Whether an answer takes back what is stored of its page: it is one of 2xx to 4xx, and was not stored for a reason that
/// holds for all visitors.
///
/// `of_the_answer` tells of [`Refusal::NoCache`] that a condition which reads the answer alone is true. `own` tells that the
/// request bypassed the cache by a condition, or carried a name and a password: what it is told may be its visitor's own, but
/// that there is no such page (404, 410) is not.
///
/// Statuses that find fault with the request ([`is_of_the_request`], and 406, 408, 421, 422, 425, 426, 428, 429: RFC 9110
/// §15.5, RFC 6585) say nothing of the page: any visitor could send such a request and remove the page for all.
pub fn takes_back(status: u16, refusal: Refusal, of_the_answer: bool, own: bool) -> bool {
    let finds_fault =
        is_of_the_request(status) || matches!(status, 406 | 408 | 421 | 422 | 425 | 426 | 428 | 429);
    if !(200..500).contains(&status) || finds_fault {
        return false;
    }
    let of_the_page = refusal.is_of_the_page() || of_the_answer && refusal == Refusal::NoCache;
    of_the_page && (!own || matches!(status, 404 | 410))
}

/// RFC 9111 §3.5.
fn allows_sharing(control: &CacheControl) -> bool {
    control.public || control.s_maxage.is_some() || control.must_revalidate
}

/// RFC 9111 §3: final, and neither a part nor a confirmation of another answer.
fn is_whole_page(status: u16) -> bool {
    (200..600).contains(&status) && status != 206 && status != 304
}

#[cfg(test)]
mod tests;
