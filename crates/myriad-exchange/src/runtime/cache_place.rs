//! Caching of an origin's responses.

use std::sync::Arc;

use myriad_policy::CachePolicy;
use myriad_script::{Predicates, Template};

use myriad_store::page::PageZone;

/// Cache settings of a place.
pub struct CachePlace {
    /// Cache zone.
    pub zone: Arc<PageZone>,
    /// Index of the zone in [`super::Runtime::zone_list`].
    pub zone_number: u16,
    /// `*_cache_key`.
    pub key: Template,
    /// `*_cache_bypass`.
    pub bypass: Predicates,
    /// `*_no_cache`.
    pub no_cache: Predicates,
    /// Policy rules for storing and serving.
    pub rules: CachePolicy,
    /// `*_cache_max_range_offset`, in bytes: a range that starts there or beyond is requested from the origin.
    pub max_range_offset: Option<u64>,
    /// True if the key, or a parameter, determines the `Host` sent to the origin.
    pub host_in_key: bool,
    /// True if the key depends on the requested URI, which differs from the URI sent by the client in a subrequest.
    pub uri_in_key: bool,
    /// `cache_no_vary_search`.
    pub no_vary_search: bool,
    /// `cache_no_vary_search ... say=`: line added to stored pages whose origin does not send the field.
    pub no_vary_search_line: Option<Vec<u8>>,
    /// `proxy_cache_convert_head`, for every protocol: HEAD shares the page of GET.
    pub convert_head: bool,
    /// `*_cache_purge` without a zone: requests that purge, and permitted clients.
    pub purge: Option<Box<PurgeRules>>,
    /// `*_cache_valid` with variables: text of the time for each entry of the rules that contains variables.
    pub valid_texts: Option<Box<[Option<Template>]>>,
}

/// `*_cache_purge` for the requests of a place.
pub struct PurgeRules {
    /// Requests that purge.
    pub when: PurgeWhen,
    /// `purge_all`: the whole zone is purged, independently of the URI.
    pub everything: bool,
    /// Permitted networks; if `None`, the local machine.
    pub from: Option<Arc<[super::Network]>>,
}

/// Requests that purge.
pub enum PurgeWhen {
    /// Requests with one of these methods.
    Methods(Arc<[Box<[u8]>]>),
    /// Requests for which at least one text is neither empty nor `0`.
    Conditions(Predicates),
}

/// Zone in which requests to a server may purge.
pub struct ServerPurge {
    /// Methods of requests that purge.
    pub methods: Arc<[Box<[u8]>]>,
    /// Permitted networks; if `None`, the local machine.
    pub from: Option<Arc<[super::Network]>>,
    /// Cache zone.
    pub zone: Arc<PageZone>,
}
