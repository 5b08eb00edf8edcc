//! The rules of a location's `*_cache_*` directives, whatever the protocol of its origin.

use myriad_http::Method;

use crate::request_status::is_of_the_request;
use crate::{ImpersonalCookies, PersonalCookies, SharedFetch};

/// The cache directives of one location, resolved.
#[derive(Clone, Debug)]
pub struct Rules {
    /// `*_cache_valid`, in source order: the first entry that matches decides.
    pub valid: Vec<ValidFor>,
    /// `*_ignore_headers`.
    pub ignore: IgnoreHeaders,
    /// `*_cache_methods`.
    pub methods: Methods,
    /// `*_cache_min_uses`: how many requests a key needs before an answer is stored.
    pub min_uses: u64,
    /// `*_cache_use_stale`.
    pub use_stale: UseStale,
    /// `*_cache_lock*`; `None` where it is off.
    pub lock: Option<LockRules>,
    /// `*_cache_background_update`.
    pub background_update: bool,
    /// `*_cache_revalidate`.
    pub revalidate: bool,
    /// `personal_cookies`: whose bearer neither reads nor fills a shared page.
    pub personal: PersonalCookies,
    /// `impersonal_cookies`: a stored page leaves these out of itself.
    pub impersonal: ImpersonalCookies,
    /// Whether the key holds `$http_authorization` or `$remote_user`, so that each visitor has pages of their own.
    pub authorization_in_key: bool,
    /// `cache_rfc9111`: what RFC 9111 adds against nginx's behaviour.
    pub rfc9111: bool,
    /// `cache_device_class`: what varies by `User-Agent` has a variant for each class of device.
    pub device_class: bool,
    /// Which fields for accelerators the requests to the origin announce that this one obeys.
    pub announced: Announced,
    /// `shared_fetch_headers`: what the origin of a page for everybody is told of the visitor who caused its fetch.
    pub shared_fetch: SharedFetch,
    /// `*_cache_stale`: how long after its validity a page may serve stale.
    pub grace: Grace,
    /// `*_cache_invalidate`: what the answer to an unsafe method makes of stored pages; `cache_rfc9111` implies
    /// [`Invalidate::Everything`].
    pub invalidate: Invalidate,
    /// `*_cache_negative`: statuses that are stored for so long, in ms, though the answer says that it is not to be stored.
    pub negative: Vec<(u16, u64)>,
    /// `*_hide_header`, in lower case.
    pub hide: Vec<Box<[u8]>>,
    /// `*_pass_header`, in lower case; never brings back hop-by-hop fields or `Set-Cookie` in a stored page.
    pub pass: Vec<Box<[u8]>>,
}

impl Default for Rules {
    /// nginx's defaults, but for the lock, which is on: one origin request per page; and the personal cookies.
    fn default() -> Rules {
        Rules {
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
            announced: Announced::default(),
            shared_fetch: SharedFetch::default(),
            grace: Grace::default(),
            invalidate: Invalidate::default(),
            negative: Vec::new(),
            hide: Vec::new(),
            pass: Vec::new(),
        }
    }
}

impl Rules {
    /// Which entry of [`Rules::valid`] is for `status`.
    pub fn valid_at(&self, status: u16) -> Option<usize> {
        self.valid.iter().position(|rule| match rule.status {
            StatusMatch::Code(code) => code == status,
            StatusMatch::Any => status < 500 && !is_of_the_request(status),
        })
    }

    /// The validity that `*_cache_valid` gives to `status`, in ms; `None` where no entry matches.
    ///
    /// `any` reaches neither server errors nor those that say something of the request: they need their own code.
    pub fn valid_for(&self, status: u16) -> Option<u64> {
        self.valid_at(status).map(|at| self.valid[at].ms)
    }
}

/// Which fields for accelerators a place obeys, as its requests to the origin announce it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announced {
    /// The device token by which `Surrogate-Capability` names this server: directives for other tokens are not for it. None
    /// where nothing is announced.
    pub surrogate: Option<Box<[u8]>>,
    /// Whether `X-LSCACHE` tells the application that its fields for LiteSpeed's cache are obeyed.
    pub litespeed: bool,
}

/// One status of a `*_cache_valid`. A directive without codes stands for 200, 301 and 302: three entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidFor {
    /// Which answers.
    pub status: StatusMatch,
    /// For how long, in ms; 0 for not at all.
    pub ms: u64,
}

/// Which statuses a [`ValidFor`] speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusMatch {
    /// `any`.
    Any,
    /// This one.
    Code(u16),
}

/// `*_ignore_headers`: response fields that do not decide about caching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IgnoreHeaders {
    /// `Cache-Control`, except for `private`.
    pub cache_control: bool,
    /// `Expires`.
    pub expires: bool,
    /// `Set-Cookie`, except for personal cookies.
    pub set_cookie: bool,
    /// `Vary`.
    pub vary: bool,
    /// `X-Accel-Expires`.
    pub x_accel_expires: bool,
}

/// `*_cache_methods`. GET and HEAD always count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Methods {
    /// `POST`.
    pub post: bool,
}

impl Methods {
    /// Whether requests with `method` use the cache.
    pub const fn contains(self, method: Method) -> bool {
        match method {
            Method::Get | Method::Head => true,
            Method::Post => self.post,
            _ => false,
        }
    }
}

/// `*_cache_use_stale`: when an expired page may still be served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UseStale {
    /// `error`: no connection, or one that broke.
    pub error: bool,
    /// `timeout`.
    pub timeout: bool,
    /// `invalid_header`: an empty or unreadable answer.
    pub invalid_header: bool,
    /// `updating`: another request refreshes the page.
    pub updating: bool,
    /// `http_500`.
    pub http_500: bool,
    /// `http_502`.
    pub http_502: bool,
    /// `http_503`.
    pub http_503: bool,
    /// `http_504`.
    pub http_504: bool,
    /// `http_403`.
    pub http_403: bool,
    /// `http_404`.
    pub http_404: bool,
    /// `http_429`.
    pub http_429: bool,
}

impl UseStale {
    /// Everything but `http_403`, `http_404` and `http_429`: what the presets say.
    pub const FAILURES: UseStale = UseStale {
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

    /// Whether an origin's answer of this status lets an expired page be served in its place.
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

/// `*_cache_stale`: how long after its validity a page may serve stale under [`Rules::use_stale`], in ms; `u64::MAX` for as
/// long as `inactive` leaves it. nginx knows no bound but that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace {
    /// While it is refreshed: nobody waits, and the page is outdated.
    pub refresh_ms: u64,
    /// When its refresh fails: the page is better than nothing.
    pub failure_ms: u64,
}

impl Default for Grace {
    /// Ten minutes bridge the pause between two visitors of a page that is asked for now and then; the first visitor of a
    /// quiet site waits rather than sees what was so yesterday.
    fn default() -> Grace {
        Grace { refresh_ms: 10 * 60 * 1000, failure_ms: u64::MAX }
    }
}

/// `*_cache_invalidate`: what the answer to a request with an unsafe method makes of stored pages (RFC 9111 §4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Invalidate {
    /// Nothing, as nginx.
    #[default]
    Nothing,
    /// The page that a redirect leads to has to be fetched before it is shown again.
    Redirects,
    /// As RFC 9111 has it: the page of the request's own URI goes, and those that `Location` and `Content-Location` name.
    Everything,
}

/// `*_cache_lock on`: one origin request per key, the others wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockRules {
    /// `*_cache_lock_timeout`, in ms: after it a waiter fetches for itself, and its answer is not stored. `None`: waits
    /// for as long as the fetch runs.
    pub timeout_ms: Option<u64>,
    /// `*_cache_lock_age`, in ms: after it one more request may go to the origin. `None`: none does while the fetch runs.
    pub age_ms: Option<u64>,
}

impl Default for LockRules {
    /// Waits by event for as long as the fetch runs, bounded by the origin's own time-outs.
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
        let rules =
            Rules { valid: vec![code(404, 10), any(60), code(200, 99), code(503, 5)], ..Rules::default() };
        assert_eq!(rules.valid_for(404), Some(10));
        assert_eq!(rules.valid_for(200), Some(60));
        assert_eq!(rules.valid_for(503), Some(5));
        for status in (500..600).filter(|status| *status != 503).chain([400, 405, 431]).chain(411..=417) {
            assert_eq!(rules.valid_for(status), None, "{status}");
        }
        for status in [401, 403, 410, 418, 429, 451] {
            assert_eq!(rules.valid_for(status), Some(60), "{status}");
        }
        assert_eq!(Rules::default().valid_for(200), None);
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
