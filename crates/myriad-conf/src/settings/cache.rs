//! The cache part of the upstream family, and Myriad's own cache rules.

use super::{Network, SharedFetchSettings};
use crate::text::Text;

/// `*_cache`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CacheZone {
    /// No caching.
    #[default]
    Off,
    /// Name of a zone; checked to exist unless it holds variables.
    Zone(Text),
}

/// Which statuses a [`CacheValid`] covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheStatus {
    /// `any`.
    Any,
    /// One status, 100 to 599.
    Code(u16),
}

/// One status of a `*_cache_valid`; the first that matches decides, an exact code or `any` alike, in source order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheValid {
    /// The status.
    pub status: CacheStatus,
    /// Milliseconds; 0 means that it is not stored.
    pub valid: u64,
    /// What comes to the time for each answer, where it holds variables; then `valid` is 0.
    pub text: Option<Text>,
}

/// `*_cache_methods`; GET and HEAD always count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheMethods {
    /// `POST`.
    pub post: bool,
}

/// `*_cache_use_stale`: when an expired page may still be served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StaleWhen {
    /// `error`.
    pub error: bool,
    /// `timeout`.
    pub timeout: bool,
    /// `invalid_header`.
    pub invalid_header: bool,
    /// `updating`.
    pub updating: bool,
    /// `http_500`.
    pub http_500: bool,
    /// `http_502` (HTTP only).
    pub http_502: bool,
    /// `http_503`.
    pub http_503: bool,
    /// `http_504` (HTTP only).
    pub http_504: bool,
    /// `http_403`.
    pub http_403: bool,
    /// `http_404`.
    pub http_404: bool,
    /// `http_429`.
    pub http_429: bool,
}

/// `*_cache_stale`: how long an expired page may be served, in ms; `u64::MAX` for as long as `inactive` leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleTimes {
    /// While it is refreshed.
    pub refresh: u64,
    /// When its refresh fails.
    pub failure: u64,
}

/// `*_cache_invalidate`: what the answer to a request with an unsafe method makes of stored pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheInvalidate {
    /// `off`: nothing.
    #[default]
    Off,
    /// `redirect`: the page that a redirect leads to is fetched before it is shown again.
    Redirect,
    /// `on`: as RFC 9111 section 4.4 has it.
    On,
}

/// `*_cache*`. Times in ms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSettings {
    /// `*_cache`.
    pub zone: CacheZone,
    /// `*_cache_key`; never `None` where [`Self::zone`] is on.
    pub key: Option<Text>,
    /// `*_cache_valid`, in source order.
    pub valid: Vec<CacheValid>,
    /// `*_cache_methods`.
    pub methods: CacheMethods,
    /// `*_cache_min_uses`.
    pub min_uses: u64,
    /// `*_cache_bypass`: not served from the cache where one is neither empty nor `0`.
    pub bypass: Vec<Text>,
    /// `*_no_cache`: not stored where one is neither empty nor `0`.
    pub no_cache: Vec<Text>,
    /// `*_cache_lock`; `None` where not written: Myriad then locks, nginx does not.
    pub lock: Option<bool>,
    /// `*_cache_lock_timeout`; `None` where not written.
    pub lock_timeout: Option<u64>,
    /// `*_cache_lock_age`; `None` where not written.
    pub lock_age: Option<u64>,
    /// `*_cache_use_stale`.
    pub use_stale: StaleWhen,
    /// `*_cache_stale`; `None` where not written.
    pub stale: Option<StaleTimes>,
    /// `*_cache_invalidate`.
    pub invalidate: CacheInvalidate,
    /// `*_cache_negative`: statuses, and for how many ms each is stored though its answer says no.
    pub negative: Vec<(u16, u64)>,
    /// `*_cache_background_update`.
    pub background_update: bool,
    /// `*_cache_revalidate`.
    pub revalidate: bool,
    /// `proxy_cache_convert_head`.
    pub convert_head: bool,
    /// `*_cache_max_range_offset`, bytes; `None` means no limit.
    pub max_range_offset: Option<u64>,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self {
            zone: CacheZone::Off,
            key: None,
            valid: Vec::new(),
            methods: CacheMethods::default(),
            min_uses: 1,
            bypass: Vec::new(),
            no_cache: Vec::new(),
            lock: None,
            lock_timeout: None,
            lock_age: None,
            use_stale: StaleWhen::default(),
            stale: None,
            invalidate: CacheInvalidate::default(),
            negative: Vec::new(),
            background_update: false,
            revalidate: false,
            convert_head: true,
            max_range_offset: None,
        }
    }
}

/// `personal_cookies`: cookies whose bearer neither reads nor fills a shared page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonalCookies {
    /// Whether the built-in list counts; on unless the directive names a list without `default`, or says `off`.
    pub builtin: bool,
    /// Names; a trailing `*` stands for any rest.
    pub names: Vec<Text>,
}

impl PersonalCookies {
    /// Whether no cookie is personal (`personal_cookies off`).
    pub fn is_off(&self) -> bool {
        !self.builtin && self.names.is_empty()
    }
}

impl Default for PersonalCookies {
    fn default() -> Self {
        Self { builtin: true, names: Vec::new() }
    }
}

/// `cache_debug`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheDebug {
    /// Whether answers say what the cache did.
    pub on: bool,
    /// `from`: who may see keys. None: loopback and the server's own addresses, by requests that nobody passed on.
    pub from: Option<Vec<Network>>,
}

/// Myriad's own cache directives, the same for every protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheRules {
    /// `personal_cookies`.
    pub personal_cookies: PersonalCookies,
    /// `cache_rfc9111`: what RFC 9111 adds against nginx's behaviour.
    pub rfc9111: bool,
    /// `cache_device_class`: variants by device classes instead of by `User-Agent`.
    pub device_class: bool,
    /// `shared_fetch_headers`, `cache_key_field`, `cache_key_cookie`.
    pub shared_fetch: SharedFetchSettings,
    /// `cache_debug`.
    pub debug: CacheDebug,
    /// `*_cache_purge` where it names no zone.
    pub purge: PurgeSettings,
    /// `cache_purge_response_type`.
    pub purge_style: PurgeStyle,
}

/// How the answer to a purge says what it was of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PurgeStyle {
    /// A page.
    #[default]
    Html,
    /// An object.
    Json,
    /// A document.
    Xml,
    /// A line.
    Text,
}

/// Which requests of a place purge what is stored, and who may send them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PurgeSettings {
    /// Which requests purge.
    pub when: PurgeCondition,
    /// `purge_all`: they purge the whole zone.
    pub everything: bool,
    /// `from`: who may. None: loopback and the server's own addresses, by requests that nobody passed on.
    pub from: Option<Vec<Network>>,
}

/// What makes a request one that purges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PurgeCondition {
    /// Nothing.
    #[default]
    Off,
    /// Its method, one of these.
    Methods(Vec<String>),
    /// One of the texts, when it is neither empty nor `0`.
    Texts(Vec<Text>),
}
