//! Settings of the cache directives.

use std::borrow::Cow;

use myriad_conf::settings::OriginSettings;
use myriad_conf::{Text, feature_settings};
use myriad_policy::{Grace, Invalidate, LeakSampling, LockRules, Methods, UseStale, ValidFor};

/// Cache zone of a location (`*_cache`), or `off`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CacheZone {
    /// `off`: responses are not cached.
    #[default]
    Off,
    /// Name of a zone; a variable in it selects the zone for each request.
    Zone(Text),
}

/// One status of a `*_cache_valid` directive, with the lifetime for it. For a response, the first one in configuration
/// order that matches applies, no matter whether it is a code or `any`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheValid {
    /// Status and lifetime in milliseconds; the lifetime is 0 if the time contains variables.
    pub valid: ValidFor,
    /// Time that is evaluated for each response; `None` if the time contains no variables.
    pub text: Option<Text>,
}

/// Settings of `*_cache*`. Times are in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheSettings {
    /// Cache zone of the location (`*_cache`).
    pub zone: CacheZone,
    /// Cache key (`*_cache_key`); `None` if it is not set. [`cache_key`] returns the effective key.
    pub key: Option<Text>,
    /// Lifetimes by status (`*_cache_valid`), in configuration order.
    pub valid: Vec<CacheValid>,
    /// Methods whose requests use the cache (`*_cache_methods`).
    pub methods: Methods,
    /// Number of requests from which a page is stored (`*_cache_min_uses`).
    pub min_uses: u64,
    /// Conditions (`*_cache_bypass`): the cache is not read if any value is neither empty nor `0`.
    pub bypass: Vec<Text>,
    /// Conditions (`*_cache_share`): a GET, HEAD or POST request that its method or `*_cache_bypass` excludes uses the
    /// cache, and `*_no_cache` does not apply to it, if any value is neither empty nor `0`.
    pub share: Vec<Text>,
    /// Conditions (`*_no_cache`): the response is not stored if any value is neither empty nor `0`.
    pub no_cache: Vec<Text>,
    /// True to coalesce concurrent requests for a page (`*_cache_lock`).
    pub lock: bool,
    /// Timeouts of the lock (`*_cache_lock_timeout`, `*_cache_lock_age`), which apply if `lock` is true.
    pub lock_rules: LockRules,
    /// Cases in which a stale page may be served (`*_cache_use_stale`).
    pub use_stale: UseStale,
    /// Minimum validity, in milliseconds, of pages whose validity depends on how long their content has been equal
    /// (`*_cache_adaptive`); `None` if it is off.
    pub adaptive: Option<u64>,
    /// Maximum times after the expiry in which a page may be served stale: while it is refreshed, and after a failed
    /// refresh (`*_cache_stale`).
    pub stale: Grace,
    /// Pages that are invalidated after an unsafe request (`*_cache_invalidate`).
    pub invalidate: Invalidate,
    /// Statuses that are stored for a number of milliseconds even if the response forbids storing (`*_cache_negative`).
    pub negative: Vec<(u16, u64)>,
    /// True to refresh stale pages in the background (`*_cache_background_update`).
    pub background_update: bool,
    /// True to refresh pages by conditional requests (`*_cache_revalidate`).
    pub revalidate: bool,
    /// True if a page is requested by GET for a HEAD request (`proxy_cache_convert_head`); `None` for protocols without
    /// the directive, which always do this.
    pub convert_head: Option<bool>,
    /// Offset in bytes from which range requests are passed to the origin (`*_cache_max_range_offset`); `None` for no
    /// limit.
    pub max_range_offset: Option<u64>,
}

feature_settings!(CacheSettings);

/// Returns the cache key of an origin: `*_cache_key`, otherwise the default key of the protocol.
pub fn cache_key(origin: &OriginSettings) -> Cow<'_, Text> {
    let default = || Cow::Owned(Text::builtin(origin.protocol.default_key().text));
    origin.own::<CacheSettings>().key.as_ref().map_or_else(default, Cow::Borrowed)
}

/// List of cookies in `personal_cookies` or `esi_session_cookies`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersonalCookies {
    /// True if the built-in list of cookies is included.
    pub builtin: bool,
    /// Cookie names; a final `*` matches any suffix.
    pub names: Vec<Text>,
}

impl PersonalCookies {
    /// Returns whether the list is empty (`off`).
    pub fn is_off(&self) -> bool {
        !self.builtin && self.names.is_empty()
    }
}

/// Settings of cache directives that are common to all protocols of origins (no `fastcgi_` or `proxy_` prefix).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheRules {
    /// Cookies that identify a client (`personal_cookies`).
    pub personal_cookies: PersonalCookies,
    /// Names of cookies that do not prevent storing, and are removed from stored pages (`impersonal_cookies`); a
    /// final `*` matches any suffix.
    pub impersonal_cookies: Vec<Text>,
    /// True to search responses for data of the visitor before they are shared (`leak_guard`).
    pub leak_guard: bool,
    /// Verification of stored pages by requests of the server itself (`leak_guard sample=`); `None` if it is off.
    pub leak_sampling: Option<LeakSampling>,
    /// True to follow RFC 9111 where nginx does not (`cache_rfc9111`).
    pub rfc9111: bool,
    /// True if keys omit arguments that, according to the origin's `No-Vary-Search`, do not affect the response
    /// (`cache_no_vary_search`).
    pub no_vary_search: bool,
    /// Value of `No-Vary-Search` for responses with status 200 whose origin does not send it (`cache_no_vary_search
    /// say=`); `None` if not set.
    pub no_vary_search_default: Option<Vec<u8>>,
}

feature_settings!(CacheRules);
