//! Settings for caching an origin's responses.

use std::sync::Arc;

use myriad_policy::CachePolicy;
use myriad_script::{Predicates, Template};

use myriad_store::page::PageZone;

/// Cache settings of a location (`*_cache` and related directives).
pub struct CachePlace {
    /// Cache zone in which the location's pages are stored.
    pub zone: Arc<PageZone>,
    /// Index of the zone in [`super::Runtime::zone_list`].
    pub zone_number: u16,
    /// `*_cache_key`: text that evaluates to the cache key.
    pub key: Template,
    /// `*_cache_bypass`: if one of these conditions is true, the request is not answered with a stored page.
    pub bypass: Predicates,
    /// `*_cache_share`: conditions under which a GET, HEAD or POST request uses the cache although its method or
    /// `*_cache_bypass` excludes it; `*_no_cache` then does not apply to it.
    pub share: Predicates,
    /// `*_no_cache`: if one of these conditions is true, the response is not stored.
    pub no_cache: Predicates,
    /// Rules of the cache policy (`myriad-policy`): which responses are stored, and when stored pages are served.
    pub rules: CachePolicy,
    /// `*_cache_max_range_offset`, in bytes: a range that begins at this offset or later, or that counts from the end,
    /// is requested from the origin instead of fetching the page. `None` without a limit.
    pub max_range_offset: Option<u64>,
    /// True if `*_cache_key` contains `$http_host`, or a parameter replaces `HTTP_HOST` for the origin, so that the
    /// received `Host` need not be appended to keys.
    pub host_in_key: bool,
    /// True if `*_cache_key` depends on the URI being processed (`$uri`), which in a subrequest differs from the URI
    /// that the client sent.
    pub uri_in_key: bool,
    /// Number that identifies the settings of the page optimizer (`optimize`), without its budget; 0 if the optimizer
    /// is off.
    pub optimize: u64,
    /// `cache_no_vary_search`: true if keys omit the arguments that the origin's `No-Vary-Search` ignores.
    pub no_vary_search: bool,
    /// `cache_no_vary_search ... say=`: value of `No-Vary-Search` that is added to responses of the origin with
    /// status 200 and without this field; `None` without `say=`.
    pub no_vary_search_line: Option<Vec<u8>>,
    /// True if a HEAD request uses the page of GET (`proxy_cache_convert_head`); always true for protocols without this
    /// directive.
    pub convert_head: bool,
    /// `*_cache_purge` without a zone: rules for purge requests to this location. `None` if the location has no such
    /// directive.
    pub purge: Option<Box<PurgeRules>>,
    /// `*_cache_valid` with variables: for each rule, the text of its duration if that contains variables, otherwise
    /// `None`. The whole field is `None` if no rule contains variables.
    pub valid_texts: Option<Box<[Option<Template>]>>,
}

/// `*_cache_purge` without a zone: rules by which a request to the location is a purge.
pub struct PurgeRules {
    /// Condition under which a request is a purge.
    pub when: PurgeWhen,
    /// `purge_all`: the whole zone is purged, regardless of the URI.
    pub everything: bool,
    /// Networks that may purge; `None` means the local machine.
    pub from: Option<Arc<[super::Network]>>,
}

/// Condition under which a request is a purge.
pub enum PurgeWhen {
    /// Requests with one of these methods are purges.
    Methods(Arc<[Box<[u8]>]>),
    /// Requests are purges if at least one of these texts evaluates to neither an empty text nor `0`.
    Conditions(Predicates),
}

/// Cache zone from which requests to a server may remove pages, with the rules for such purge requests.
pub struct ServerPurge {
    /// Methods by which a request is a purge.
    pub methods: Arc<[Box<[u8]>]>,
    /// Networks that may purge; `None` means the local machine.
    pub from: Option<Arc<[super::Network]>>,
    /// Cache zone from which pages are removed.
    pub zone: Arc<PageZone>,
}
