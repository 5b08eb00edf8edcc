//! How the answers of an origin are cached.

use std::sync::Arc;

use myriad_policy::Rules;
use myriad_script::{Predicates, Template};

use myriad_page::PageZone;

/// How answers of an origin are cached.
pub struct CachePlace {
    /// The zone.
    pub zone: Arc<PageZone>,
    /// Its place in [`super::Runtime::zone_list`].
    pub zone_number: u16,
    /// `*_cache_key`.
    pub key: Template,
    /// `*_cache_bypass`.
    pub bypass: Predicates,
    /// `*_no_cache`.
    pub no_cache: Predicates,
    /// What may be stored and served, for the policy.
    pub rules: Rules,
    /// `*_cache_max_range_offset`, bytes: a range that begins there or beyond is asked of the origin.
    pub max_range_offset: Option<u64>,
    /// Whether the key, or a parameter, says which `Host` the origin is told.
    pub host_in_key: bool,
    /// Whether the key follows the URI that is asked for, which of a subrequest is not what the client sent.
    pub uri_in_key: bool,
    /// `cache_no_vary_search`.
    pub no_vary_search: bool,
    /// `cache_no_vary_search ... say=`: a line of stored pages whose origin does not say it.
    pub no_vary_search_said: Option<Vec<u8>>,
    /// `proxy_cache_convert_head`, for every protocol: HEAD shares the page of GET.
    pub convert_head: bool,
    /// `*_cache_purge` without a zone: which requests purge, and whose.
    pub purge: Option<Box<PurgeRules>>,
    /// `*_cache_valid` with variables: what comes to the time of each entry of the rules that holds some.
    pub valid_texts: Option<Box<[Option<Template>]>>,
}

/// `*_cache_purge` for the requests of a place.
pub struct PurgeRules {
    /// Which requests purge.
    pub when: PurgeWhen,
    /// `purge_all`: whatever they are sent for.
    pub everything: bool,
    /// Who may; none written: who is near.
    pub from: Option<Arc<[super::Network]>>,
}

/// Which requests purge.
pub enum PurgeWhen {
    /// Those with one of these methods.
    Methods(Arc<[Box<[u8]>]>),
    /// Those for which one of the texts is neither empty nor `0`.
    Conditions(Predicates),
}

/// A zone that requests to a server may purge in.
pub struct ServerPurge {
    /// Those with one of these methods.
    pub methods: Arc<[Box<[u8]>]>,
    /// Who may; none written: who is near.
    pub from: Option<Arc<[super::Network]>>,
    /// The zone.
    pub zone: Arc<PageZone>,
}
