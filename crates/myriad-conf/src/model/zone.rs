//! Cache zones: `fastcgi_cache_path`, `proxy_cache_path`.

use crate::{settings::Protocol, span::Span, text::Text};

/// Cache zone. Sizes are in bytes, times in ms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheZoneConf {
    /// `keys_zone=NAME:…`.
    pub name: String,
    /// Protocol whose directive defines the zone. Unlike in nginx, every protocol may use the zone.
    pub protocol: Protocol,
    /// Folder of the disk tier, relative to the prefix.
    pub path: Text,
    /// `levels=1:2`: one to three digits of 1 or 2; empty if not set.
    pub levels: Vec<u8>,
    /// `keys_zone=…:SIZE`.
    pub keys_zone_size: u64,
    /// `memory=`: maximum size of the memory tier; specific to Myriad. `None` if not set.
    pub memory: Option<u64>,
    /// `max_size=` of the disk tier.
    pub max_size: Option<u64>,
    /// `min_free=` of the disk.
    pub min_free: u64,
    /// `inactive=`: entries are evicted after this time without use.
    pub inactive: u64,
    /// `use_temp_path=`.
    pub use_temp_path: bool,
    /// `loader_files=`.
    pub loader_files: u64,
    /// `loader_sleep=`.
    pub loader_sleep: u64,
    /// `loader_threshold=`.
    pub loader_threshold: u64,
    /// `manager_files=`.
    pub manager_files: u64,
    /// `manager_sleep=`.
    pub manager_sleep: u64,
    /// `manager_threshold=`.
    pub manager_threshold: u64,
    /// `max_fetches=`: maximum number of concurrent fetches that fill the zone, at least 1; specific to Myriad.
    pub max_fetches: u32,
    /// `fetch_queue=`: maximum number of requests that wait for a fetch slot; specific to Myriad.
    pub fetch_queue: u32,
    /// The directive.
    pub span: Span,
}
