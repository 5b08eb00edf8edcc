//! Rules of a location's `*_cache_*` directives, the same for all origin protocols.

use myriad_http::Method;

use crate::request_status::is_request_error;
use crate::{ImpersonalCookies, PersonalCookies, SharedFetch};

/// Sampled verification of stored pages (`leak_guard sample=`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeakSampling {
    /// Maximum part of the stored pages that is verified per hour, in millionths, in addition to pages with a second
    /// hit.
    pub part_ppm: u32,
    /// Time between the hit that causes a verification and its first request, in ms.
    pub delay_ms: u64,
    /// Time that the origin may spend on verifications: part of the time of each CPU core of this machine, in
    /// millionths.
    pub budget_ppm: u32,
}

impl Default for LeakSampling {
    fn default() -> Self {
        Self { part_ppm: 10_000, delay_ms: 30_000, budget_ppm: 10_000 }
    }
}

/// Cache directives of a location, after inheritance and defaults.
#[derive(Clone, Debug)]
pub struct CachePolicy {
    /// `*_cache_valid`, in source order; the first entry that matches a status applies.
    pub valid: Vec<ValidFor>,
    /// `*_ignore_headers`: response fields that have no effect on caching.
    pub ignore: IgnoreHeaders,
    /// `*_cache_methods`: methods whose requests use the cache.
    pub methods: Methods,
    /// `*_cache_min_uses`: number of requests with a cache key from which on a response is stored.
    pub min_uses: u64,
    /// `*_cache_use_stale`: conditions under which an expired page may be served.
    pub use_stale: UseStale,
    /// `*_cache_lock*`: rules for waiting while another request fetches the page; `None` if disabled.
    pub lock: Option<LockRules>,
    /// `*_cache_background_update`: true if an expired page may be served while it is refreshed in the background.
    pub background_update: bool,
    /// `*_cache_revalidate` or `cache_rfc9111`: true if expired pages are refreshed by conditional requests.
    pub revalidate: bool,
    /// `personal_cookies` (login, cart): requests with such a cookie neither read nor fill shared pages. No cookie
    /// counts if the cache key contains all cookies (`$http_cookie`).
    pub personal: PersonalCookies,
    /// `impersonal_cookies`: cookies that do not prevent storing and are omitted from stored pages.
    pub impersonal: ImpersonalCookies,
    /// True if the cache key contains `$http_authorization` or `$remote_user`, so that each user has separate pages.
    pub authorization_in_key: bool,
    /// `cache_rfc9111`: true to apply RFC 9111 where nginx differs from it.
    pub rfc9111: bool,
    /// `cache_device_class`: true if pages that vary by `User-Agent` have one variant per device class.
    pub device_class: bool,
    /// Fields for accelerators (such as `Surrogate-Control`) that are obeyed, because their support is announced to the
    /// origin.
    pub announced: AnnouncedSupport,
    /// `leak_guard`: true if responses with data of the visitor whose request fetched them are not stored.
    pub leak_guard: bool,
    /// `leak_guard sample=`: verification of stored pages by requests of the server itself; `None` if it is off.
    pub leak_sampling: Option<LeakSampling>,
    /// `shared_fetch_headers`: request fields that are sent to the origin when a page is fetched for several clients.
    pub shared_fetch: SharedFetch,
    /// `*_cache_adaptive`: minimum validity, in ms, of pages whose validity depends on how long their content has been
    /// equal; `None` if the validity of the response applies unchanged.
    pub adaptive_min_ms: Option<u64>,
    /// `*_cache_stale`: for how long after its validity a page may be served stale.
    pub grace: Grace,
    /// `*_cache_invalidate`: effect of a response to an unsafe method on stored pages. `cache_rfc9111` implies
    /// [`Invalidate::Everything`].
    pub invalidate: Invalidate,
    /// `*_cache_negative`: statuses, each with a validity in ms, that are stored even if `Cache-Control` forbids
    /// storing (except `private`), the response is expired, or it has no validity. An entry with a validity of 0 has no
    /// effect.
    pub negative: Vec<(u16, u64)>,
    /// Response fields that are not stored in the cache, in lower case: `*_hide_header`, and fields that are meant only
    /// for this server.
    pub hide: Vec<Box<[u8]>>,
    /// `*_pass_header`, in lower case: response fields that are stored although they are hidden from clients by
    /// default. Hop-by-hop fields, `Set-Cookie`, `Status` and `Content-Length` are never stored.
    pub pass: Vec<Box<[u8]>>,
}

impl Default for CachePolicy {
    /// Returns nginx's defaults, except that the lock is on (one origin request per page at a time), the built-in
    /// personal cookies apply, the leak guard is on, and a page is served stale during a refresh only for a limited
    /// time ([`Grace`]).
    fn default() -> CachePolicy {
        CachePolicy {
            valid: Vec::new(),
            ignore: IgnoreHeaders::default(),
            methods: Methods::default(),
            min_uses: 1,
            use_stale: UseStale::default(),
            lock: Some(LockRules::default()),
            background_update: false,
            revalidate: false,
            personal: PersonalCookies::builtin(),
            impersonal: ImpersonalCookies::default(),
            authorization_in_key: false,
            rfc9111: false,
            device_class: false,
            announced: AnnouncedSupport::default(),
            leak_guard: true,
            leak_sampling: None,
            shared_fetch: SharedFetch::default(),
            adaptive_min_ms: None,
            grace: Grace::default(),
            invalidate: Invalidate::default(),
            negative: Vec::new(),
            hide: Vec::new(),
            pass: Vec::new(),
        }
    }
}

impl CachePolicy {
    /// Returns the index of the first entry of [`CachePolicy::valid`] that matches `status`, if any.
    pub fn valid_at(&self, status: u16) -> Option<usize> {
        self.valid.iter().position(|rule| match rule.status {
            StatusMatch::Code(code) => code == status,
            StatusMatch::Any => status < 500 && !is_request_error(status),
        })
    }

    /// Returns the validity of `status` by `*_cache_valid`, in ms; `None` if no entry matches.
    ///
    /// `any` matches neither server errors nor statuses that report an error in the request; these must be listed by
    /// code.
    pub fn valid_for(&self, status: u16) -> Option<u64> {
        self.valid_at(status).map(|at| self.valid[at].ms)
    }
}

/// Cache fields for accelerators whose support is announced to the origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnnouncedSupport {
    /// Device token of this server in `Surrogate-Capability`; directives of `Surrogate-Control` for other tokens are
    /// ignored. `None` if support is not announced.
    pub surrogate: Option<Box<[u8]>>,
    /// True if Myriad announces by `X-LSCACHE` that it obeys LiteSpeed's cache fields.
    pub litespeed: bool,
}

/// Entry of `*_cache_valid`. A directive without codes results in three entries: 200, 301 and 302.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidFor {
    /// Statuses to which the validity applies.
    pub status: StatusMatch,
    /// Validity in ms; 0 means no validity, so that a response without a validity of its own is not stored (with
    /// `cache_rfc9111`, except a 200 with a validator).
    pub ms: u64,
}

/// Statuses that a [`ValidFor`] matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusMatch {
    /// `any`: statuses below 500 that do not report an error in the request itself.
    Any,
    /// A single status.
    Code(u16),
}

/// `*_ignore_headers`: response fields that are ignored for caching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IgnoreHeaders {
    /// True if `Cache-Control` does not affect the validity; `private` always applies.
    pub cache_control: bool,
    /// True if `Expires` is ignored.
    pub expires: bool,
    /// True if `Set-Cookie` is ignored, except for personal cookies, which always prevent storing.
    pub set_cookie: bool,
    /// True if `Vary` is ignored.
    pub vary: bool,
    /// True if `X-Accel-Expires` is ignored.
    pub x_accel_expires: bool,
}

/// `*_cache_methods`: methods that use the cache. GET and HEAD always do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Methods {
    /// `POST`: true if POST requests use the cache.
    pub post: bool,
}

impl Methods {
    /// Returns whether requests with `method` may use the cache.
    pub const fn contains(self, method: Method) -> bool {
        match method {
            Method::Get | Method::Head => true,
            Method::Post => self.post,
            _ => false,
        }
    }
}

/// `*_cache_use_stale`: conditions under which an expired page may be served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UseStale {
    /// `error`: true to serve an expired page if the connection failed or could not be opened, the fetch failed for
    /// another reason that has no separate condition, or a limit of this server prevented the request.
    pub error: bool,
    /// `timeout`: true to serve an expired page if the origin timed out, or a limit of this server prevented the
    /// request.
    pub timeout: bool,
    /// `invalid_header`: true to serve an expired page if the origin sent an empty or invalid response.
    pub invalid_header: bool,
    /// `updating`: true to serve an expired page while it is being refreshed, by another request or in the background.
    pub updating: bool,
    /// `http_500`: true to serve an expired page if the origin responded with 500.
    pub http_500: bool,
    /// `http_502`: true to serve an expired page if the origin responded with 502.
    pub http_502: bool,
    /// `http_503`: true to serve an expired page if the origin responded with 503.
    pub http_503: bool,
    /// `http_504`: true to serve an expired page if the origin responded with 504.
    pub http_504: bool,
    /// `http_403`: true to serve an expired page if the origin responded with 403.
    pub http_403: bool,
    /// `http_404`: true to serve an expired page if the origin responded with 404.
    pub http_404: bool,
    /// `http_429`: true to serve an expired page if the origin responded with 429.
    pub http_429: bool,
}

impl UseStale {
    /// All conditions except `http_403`, `http_404` and `http_429`.
    #[cfg(test)]
    pub(crate) const FAILURES: UseStale = UseStale {
        error: true,
        timeout: true,
        invalid_header: true,
        updating: true,
        http_500: true,
        http_502: true,
        http_503: true,
        http_504: true,
        http_403: false,
        http_404: false,
        http_429: false,
    };

    /// Returns whether an expired page may be served instead of an origin's response with this status.
    pub const fn on_status(self, status: u16) -> bool {
        match status {
            500 => self.http_500,
            502 => self.http_502,
            503 => self.http_503,
            504 => self.http_504,
            403 => self.http_403,
            404 => self.http_404,
            429 => self.http_429,
            _ => false,
        }
    }
}

/// `*_cache_stale`: for how long after its validity a page may be served stale under [`CachePolicy::use_stale`], in ms;
/// `u64::MAX` for as long as it is stored, which is nginx's only limit (`inactive`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace {
    /// Maximum staleness while a page is refreshed: no request waits, but clients receive an outdated page.
    pub refresh_ms: u64,
    /// Maximum staleness after a failed refresh: an outdated page is better than an error.
    pub failure_ms: u64,
}

impl Default for Grace {
    /// Returns ten minutes during a refresh, and no limit after a failed refresh. Ten minutes cover the pause between
    /// two requests for a page with occasional traffic; on a site with less traffic, the first visitor waits for the
    /// refresh instead of receiving yesterday's page.
    fn default() -> Grace {
        Grace { refresh_ms: 10 * 60 * 1000, failure_ms: u64::MAX }
    }
}

/// `*_cache_invalidate`: effect of a response to a request with an unsafe method on stored pages (RFC 9111 §4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Invalidate {
    /// No effect, as in nginx.
    #[default]
    Nothing,
    /// The pages that a redirect names in `Location` and `Content-Location` must be fetched before they are served
    /// again.
    Redirects,
    /// As in RFC 9111, for statuses from 200 to 399: the page of the request's own URI and the pages named by
    /// `Location` and `Content-Location` are removed.
    Everything,
}

/// `*_cache_lock on`: only one request per cache key is sent to the origin at a time, while others wait for its
/// response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockRules {
    /// `*_cache_lock_timeout`, in ms: after waiting this long, a request is sent to the origin itself, and its response
    /// is not stored. `None`: requests wait until the fetch is complete.
    pub timeout_ms: Option<u64>,
    /// `*_cache_lock_age`, in ms: after a fetch of this duration, one more request may be sent to the origin. `None`:
    /// no other request is sent while the fetch is running.
    pub age_ms: Option<u64>,
}

impl Default for LockRules {
    /// Returns no timeouts: waiting requests are notified when the fetch ends, and the origin's timeouts limit its
    /// duration.
    fn default() -> LockRules {
        LockRules { timeout_ms: None, age_ms: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_matching_valid_decides_and_any_stops_at_server_errors() {
        let code = |code, ms| ValidFor { status: StatusMatch::Code(code), ms };
        let any = |ms| ValidFor { status: StatusMatch::Any, ms };
        let rules = CachePolicy {
            valid: vec![code(404, 10), any(60), code(200, 99), code(503, 5)],
            ..CachePolicy::default()
        };
        assert_eq!(rules.valid_for(404), Some(10));
        assert_eq!(rules.valid_for(200), Some(60));
        assert_eq!(rules.valid_for(503), Some(5));
        for status in (500..600).filter(|status| *status != 503).chain([400, 405, 431]).chain(411..=417) {
            assert_eq!(rules.valid_for(status), None, "{status}");
        }
        for status in [401, 403, 410, 418, 429, 451] {
            assert_eq!(rules.valid_for(status), Some(60), "{status}");
        }
        assert_eq!(CachePolicy::default().valid_for(200), None);
    }

    #[test]
    fn only_get_and_head_use_the_cache_unless_post_is_named() {
        for method in
            [Method::Put, Method::Delete, Method::Options, Method::Patch, Method::Purge, Method::Other]
        {
            assert!(!Methods { post: true }.contains(method), "{method:?}");
        }
        assert!(Methods::default().contains(Method::Get) && Methods::default().contains(Method::Head));
        assert!(!Methods::default().contains(Method::Post) && Methods { post: true }.contains(Method::Post));
    }

    #[test]
    fn stale_on_a_status_needs_that_very_status() {
        assert!(!UseStale::FAILURES.on_status(404) && !UseStale::FAILURES.on_status(501));
        for status in [500, 502, 503, 504] {
            assert!(
                UseStale::FAILURES.on_status(status) && !UseStale::default().on_status(status),
                "{status}"
            );
        }
        assert!(UseStale { http_429: true, ..UseStale::default() }.on_status(429));
    }
}
