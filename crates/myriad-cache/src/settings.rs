//! Settings of the cache directives.

use std::borrow::Cow;

use myriad_conf::settings::OriginSettings;
use myriad_conf::{Text, feature_settings};
use myriad_policy::{Grace, Invalidate, LockRules, Methods, UseStale, ValidFor};

/// `*_cache`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CacheZone {
    /// No caching.
    #[default]
    Off,
    /// Name of a zone. Its existence is checked unless it contains variables.
    Zone(Text),
}

/// Status of a `*_cache_valid`. The first match decides, in source order, for an exact code as for `any`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheValid {
    /// Status and lifetime; the lifetime is 0 if the time contains variables.
    pub valid: ValidFor,
    /// Time evaluated for each response, if it contains variables.
    pub text: Option<Text>,
}

/// Settings of `*_cache*`. Times are in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheSettings {
    /// `*_cache`.
    pub zone: CacheZone,
    /// `*_cache_key`; `None` if it is not set. [`cache_key`] returns the effective key.
    pub key: Option<Text>,
    /// `*_cache_valid`, in source order.
    pub valid: Vec<CacheValid>,
    /// `*_cache_methods`.
    pub methods: Methods,
    /// `*_cache_min_uses`.
    pub min_uses: u64,
    /// `*_cache_bypass`: the cache is not read if a value is neither empty nor `0`.
    pub bypass: Vec<Text>,
    /// `*_no_cache`: the response is not stored if a value is neither empty nor `0`.
    pub no_cache: Vec<Text>,
    /// `*_cache_lock`.
    pub lock: bool,
    /// `*_cache_lock_timeout` and `*_cache_lock_age`, which apply if the lock is on.
    pub lock_rules: LockRules,
    /// `*_cache_use_stale`.
    pub use_stale: UseStale,
    /// `*_cache_stale`.
    pub stale: Grace,
    /// `*_cache_invalidate`.
    pub invalidate: Invalidate,
    /// `*_cache_negative`: statuses, and the number of milliseconds that each is stored even if its response forbids
    /// storing.
    pub negative: Vec<(u16, u64)>,
    /// `*_cache_background_update`.
    pub background_update: bool,
    /// `*_cache_revalidate`.
    pub revalidate: bool,
    /// `proxy_cache_convert_head`; `None` for protocols without the directive, which convert HEAD to GET.
    pub convert_head: Option<bool>,
    /// `*_cache_max_range_offset`, in bytes; `None` for no limit.
    pub max_range_offset: Option<u64>,
}

feature_settings!(CacheSettings);

/// Returns the key of pages of these origins: `*_cache_key`, or else the default key of the protocol.
pub fn cache_key(origin: &OriginSettings) -> Cow<'_, Text> {
    let default = || Cow::Owned(Text::builtin(origin.protocol.default_key().text));
    origin.own::<CacheSettings>().key.as_ref().map_or_else(default, Cow::Borrowed)
}

/// `personal_cookies`: a request with such a cookie neither reads nor fills shared pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersonalCookies {
    /// Set if the built-in list applies: by default, unless the directive names a list without `default` or is `off`.
    pub builtin: bool,
    /// Names; a trailing `*` matches any suffix.
    pub names: Vec<Text>,
}

impl PersonalCookies {
    /// Returns whether no cookie is personal (`personal_cookies off`).
    pub fn is_off(&self) -> bool {
        !self.builtin && self.names.is_empty()
    }
}

/// Cache directives specific to Myriad, which apply to every protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheRules {
    /// `personal_cookies`.
    pub personal_cookies: PersonalCookies,
    /// `impersonal_cookies`: names of cookies that are removed from stored pages; a trailing `*` matches any suffix.
    pub impersonal_cookies: Vec<Text>,
    /// `cache_rfc9111`: behaviour of RFC 9111 that nginx does not implement.
    pub rfc9111: bool,
    /// `cache_no_vary_search`: set if keys omit the arguments that, according to the origin, do not affect the
    /// response.
    pub no_vary_search: bool,
    /// Value of the field for stored pages whose origin does not send it (`say=`).
    pub no_vary_search_default: Option<Vec<u8>>,
}

feature_settings!(CacheRules);
