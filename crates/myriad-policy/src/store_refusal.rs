//! Reasons why a response is not stored, and their consequences for the stored page.

/// Reason why a response is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreRefusal {
    /// HEAD, or a method that is not in `*_cache_methods`.
    Method,
    /// Status outside of 200 to 599, 304, or a 206 that is not a slice (RFC 9111 §3).
    Status,
    /// The request had a personal cookie (login, cart: `personal_cookies`).
    PersonalRequest,
    /// The request had `Authorization` and the response does not allow sharing (RFC 9111 §3.5).
    Authorization,
    /// `Cache-Control: private`, or a LiteSpeed field that forbids sharing (including any `X-LiteSpeed-Vary`); no
    /// directive overrides it.
    Private,
    /// `Set-Cookie` with a personal cookie; no directive overrides it.
    PersonalCookie,
    /// `Set-Cookie` with another cookie, unless the field or the cookie is ignored (`*_ignore_headers`,
    /// `impersonal_cookies`).
    SetCookie,
    /// `Vary: *`, field names in `Vary` that are too long to store, or values of these fields that are too long for a
    /// variant key.
    Vary,
    /// A `*_no_cache` condition is true or cannot be evaluated, or the response redirects internally
    /// (`X-Accel-Redirect`).
    NoCache,
    /// `X-Accel-Expires: 0`.
    XAccelExpires,
    /// `Surrogate-Control` forbids storing or defines a validity of 0, and support for it is announced to the origin.
    SurrogateControl,
    /// `X-LiteSpeed-Cache-Control` forbids storing or defines a validity of 0, and support for it is announced to the
    /// origin.
    LiteSpeedCacheControl,
    /// `Cache-Control: no-store` or `no-cache`; with `cache_rfc9111`, only under the conditions of RFC 9111.
    CacheControl,
    /// The response is already expired, for example by `max-age=0` or `Expires` in the past.
    Expired,
    /// Neither the response nor `*_cache_valid` defines a validity.
    NoValidity,
    /// Server error (5xx) while a page with a status below 500 is stored.
    ServerError,
    /// The status reports an error in the request (400, 405, 411 to 417, 431, 501), and the response forbids storing or
    /// has no validity. Without `cache_rfc9111`, it only has one if `*_cache_valid` lists the status.
    RequestError,
    /// Client error (4xx) for a request so large that origins may reject it for its size.
    LargeRequest,
    /// The cache key has had fewer requests than `*_cache_min_uses`.
    MinUses,
    /// The request uses the cache because of `*_cache_share`, and the response does not define a validity.
    Unapproved,
    /// The response contains data of the visitor, or a finding of the leak guard was confirmed for the page
    /// (`leak_guard`).
    Leak,
    /// The response may contain data of the visitor, which cannot be searched for: the request has too many values, or
    /// the body has a content coding that cannot be decoded (`leak_guard`).
    Unsearched,
}

/// Time for which it is remembered that responses for a cache key are not stored (hit-for-miss), in ms.
///
/// During this time, requests for the key are sent to the origin in parallel. Then one request leads again, and the
/// others wait for its response head. With an origin that takes 300 ms, this wait affects at most a seventh of the
/// visitors. Varnish remembers for two minutes, but a page that becomes cacheable (after a one-off cookie of a plugin,
/// or a first visit) would be unprotected for that time. Two seconds of peak traffic fit into the backlog of php-fpm.
const HIT_FOR_MISS_MS: u64 = 2_000;

impl StoreRefusal {
    /// Returns a word for logs and explanations.
    pub const fn as_str(self) -> &'static str {
        match self {
            StoreRefusal::Method => "method",
            StoreRefusal::Status => "status",
            StoreRefusal::PersonalRequest => "personal request",
            StoreRefusal::Authorization => "authorization",
            StoreRefusal::Private => "private",
            StoreRefusal::PersonalCookie => "personal cookie",
            StoreRefusal::SetCookie => "set-cookie",
            StoreRefusal::Vary => "vary",
            StoreRefusal::NoCache => "no_cache",
            StoreRefusal::XAccelExpires => "x-accel-expires",
            StoreRefusal::SurrogateControl => "surrogate-control",
            StoreRefusal::LiteSpeedCacheControl => "x-litespeed-cache-control",
            StoreRefusal::CacheControl => "cache-control",
            StoreRefusal::Expired => "expired",
            StoreRefusal::NoValidity => "no validity",
            StoreRefusal::ServerError => "server error",
            StoreRefusal::RequestError => "request error",
            StoreRefusal::LargeRequest => "large request",
            StoreRefusal::MinUses => "min_uses",
            StoreRefusal::Unapproved => "unapproved",
            StoreRefusal::Leak => "leak",
            StoreRefusal::Unsearched => "unsearched",
        }
    }

    /// Returns whether the response is not stored because it may contain data of a single visitor.
    pub const fn protects_visitors(self) -> bool {
        matches!(
            self,
            StoreRefusal::PersonalRequest
                | StoreRefusal::Authorization
                | StoreRefusal::Private
                | StoreRefusal::PersonalCookie
                | StoreRefusal::SetCookie
                | StoreRefusal::Leak
                | StoreRefusal::Unsearched
        )
    }

    /// Returns whether the reason concerns the page, independent of the visitor. A response with a status from 200 to
    /// 499 may then invalidate the stored page ([`invalidates_stored_page`](crate::invalidates_stored_page)), which
    /// must not be served stale any more.
    ///
    /// Other reasons concern only this request (its method, cookies, `Authorization`, count, or requested range) or the
    /// health of the origin. If they invalidated pages, any visitor could remove pages, and a failure would remove the
    /// pages stored for failures (RFC 9111 §4.2.4).
    ///
    /// By RFC 9111 §4.3.3, a full response to a validation replaces the stored page. §3 defines when the response
    /// itself must not be stored: `no-store`, `private` (§5.2.2.5, §5.2.2.7), no freshness (§4.2.1).
    pub const fn concerns_page(self) -> bool {
        match self {
            StoreRefusal::Private
            | StoreRefusal::PersonalCookie
            | StoreRefusal::SetCookie
            | StoreRefusal::Vary
            | StoreRefusal::XAccelExpires
            | StoreRefusal::SurrogateControl
            | StoreRefusal::LiteSpeedCacheControl
            | StoreRefusal::CacheControl
            | StoreRefusal::Expired
            | StoreRefusal::NoValidity => true,
            StoreRefusal::Method
            | StoreRefusal::Status
            | StoreRefusal::PersonalRequest
            | StoreRefusal::Authorization
            | StoreRefusal::NoCache
            | StoreRefusal::ServerError
            | StoreRefusal::RequestError
            | StoreRefusal::LargeRequest
            | StoreRefusal::MinUses
            | StoreRefusal::Unapproved
            | StoreRefusal::Leak
            | StoreRefusal::Unsearched => false,
        }
    }

    /// Returns whether the response concerns only the request sent to the origin and not the page. Each waiting request
    /// is then sent to the origin itself, and stored pages remain.
    pub const fn concerns_request(self) -> bool {
        matches!(self, StoreRefusal::RequestError | StoreRefusal::LargeRequest | StoreRefusal::Unsearched)
    }

    /// Returns for how long to remember that responses for the cache key are not stored, in ms. Returns 0 if the reason
    /// may not apply to the next request: it depends on the method, cookies, credentials, size or count of this
    /// request, or on a failure that may be over.
    pub const fn hit_for_miss_ms(self) -> u64 {
        match self {
            StoreRefusal::Method
            | StoreRefusal::PersonalRequest
            | StoreRefusal::Authorization
            | StoreRefusal::ServerError
            | StoreRefusal::RequestError
            | StoreRefusal::LargeRequest
            | StoreRefusal::MinUses
            | StoreRefusal::Unsearched => 0,
            _ => HIT_FOR_MISS_MS,
        }
    }
}
