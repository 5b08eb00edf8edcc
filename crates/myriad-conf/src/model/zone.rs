//! Cache zones: `fastcgi_cache_path`, `proxy_cache_path`.

use crate::{settings::Protocol, span::Span, text::Text};

/// A zone. Sizes in bytes, times in ms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheZoneConf {
    /// `keys_zone=NAME:…`.
    pub name: String,
    /// Which family made it; a zone may be used by either, unlike nginx's.
    pub protocol: Protocol,
    /// Folder of the disk tier, relative to the prefix.
    pub path: Text,
    /// `levels=1:2`: one to three digits of 1 or 2; empty where not written.
    pub levels: Vec<u8>,
    /// `keys_zone=…:SIZE`.
    pub keys_zone_size: u64,
    /// `memory=`: cap of the memory tier; Myriad's own. `None` where not written.
    pub memory: Option<u64>,
    /// `max_size=` of the disk tier.
    pub max_size: Option<u64>,
    /// `min_free=` of the disk.
    pub min_free: u64,
    /// `inactive=`: dropped after so long without use.
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
    /// `max_fetches=`: most fetches that fill it at once, at least 1; Myriad's own.
    pub max_fetches: u32,
    /// `fetch_queue=`: most that wait for one of them to end; Myriad's own.
    pub fetch_queue: u32,
    /// The directive.
    pub span: Span,
}
