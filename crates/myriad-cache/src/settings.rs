//! What the directives of the cache say.

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
    /// Name of a zone; checked to exist unless it holds variables.
    Zone(Text),
}

/// One status of a `*_cache_valid`; the first that matches decides, an exact code or `any` alike, in source order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheValid {
    /// The status, and for how long; not at all where the time holds variables.
    pub valid: ValidFor,
    /// What comes to the time for each answer, where it holds variables.
    pub text: Option<Text>,
}

/// `*_cache*`. Times in ms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheSettings {
    /// `*_cache`.
    pub zone: CacheZone,
    /// `*_cache_key`; `None` where it is not written. What holds then, [`cache_key`] says.
    pub key: Option<Text>,
    /// `*_cache_valid`, in source order.
    pub valid: Vec<CacheValid>,
    /// `*_cache_methods`.
    pub methods: Methods,
    /// `*_cache_min_uses`.
    pub min_uses: u64,
    /// `*_cache_bypass`: not served from the cache where one is neither empty nor `0`.
    pub bypass: Vec<Text>,
    /// `*_no_cache`: not stored where one is neither empty nor `0`.
    pub no_cache: Vec<Text>,
    /// `*_cache_lock`.
    pub lock: bool,
    /// `*_cache_lock_timeout`, `*_cache_lock_age`: what holds where the lock is on.
    pub lock_rules: LockRules,
    /// `*_cache_use_stale`.
    pub use_stale: UseStale,
    /// `*_cache_stale`.
    pub stale: Grace,
    /// `*_cache_invalidate`.
    pub invalidate: Invalidate,
    /// `*_cache_negative`: statuses, and for how many ms each is stored though its answer says no.
    pub negative: Vec<(u16, u64)>,
    /// `*_cache_background_update`.
    pub background_update: bool,
    /// `*_cache_revalidate`.
    pub revalidate: bool,
    /// `proxy_cache_convert_head`; `None` for protocols that lack the directive: HEAD becomes GET there.
    pub convert_head: Option<bool>,
    /// `*_cache_max_range_offset`, bytes; `None` means no limit.
    pub max_range_offset: Option<u64>,
}

feature_settings!(CacheSettings);

/// What a page of these origins is kept under: `*_cache_key`, else the key of the protocol.
pub fn cache_key(origin: &OriginSettings) -> Cow<'_, Text> {
    let default = || Cow::Owned(Text::builtin(origin.protocol.default_key().text));
    origin.own::<CacheSettings>().key.as_ref().map_or_else(default, Cow::Borrowed)
}

/// `personal_cookies`: cookies whose bearer neither reads nor fills a shared page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// Myriad's own cache directives, the same for every protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheRules {
    /// `personal_cookies`.
    pub personal_cookies: PersonalCookies,
    /// `impersonal_cookies`: names of cookies that a stored page leaves out; a trailing `*` stands for any rest.
    pub impersonal_cookies: Vec<Text>,
    /// `cache_rfc9111`: what RFC 9111 adds against nginx's behaviour.
    pub rfc9111: bool,
    /// `cache_no_vary_search`: whether keys leave out the arguments that origins say make no other page.
    pub no_vary_search: bool,
    /// The field's value for stored pages whose origin says nothing (`say=`).
    pub no_vary_search_said: Option<Vec<u8>>,
}

feature_settings!(CacheRules);
