//! Cache zones: `fastcgi_cache_path`, `proxy_cache_path` and the same directive of other protocols.

use crate::{settings::Protocol, span::Span, text::Text};

/// Cache zone of a `*_cache_path` directive. Sizes are in bytes, times in ms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheZoneConf {
    /// `keys_zone=NAME:SIZE`: name of the zone.
    pub name: String,
    /// Protocol of the directive that defines the zone. Unlike in nginx, other protocols may use the zone too.
    pub protocol: Protocol,
    /// Folder in which pages are stored on disk, relative to the prefix.
    pub path: Text,
    /// `levels=1:2`: lengths of the names of nested folders, up to three, each 1 or 2; empty if not set.
    pub levels: Vec<u8>,
    /// `keys_zone=NAME:SIZE`: size of the index of stored pages in bytes, which limits the number of cache files to one
    /// per 128 bytes.
    pub keys_zone_size: u64,
    /// `memory=` (only in Myriad): maximum size of the pages in memory, in bytes; `None` for an equal share of one
    /// eighth of the available memory, among the zones without `memory=`.
    pub memory: Option<u64>,
    /// `max_size=`: maximum size of the pages on disk, in bytes; `None` for no limit.
    pub max_size: Option<u64>,
    /// `min_free=`: minimum free space on the disk, in bytes; 0 for none.
    pub min_free: u64,
    /// `inactive=`: pages are evicted after this time without use, in ms.
    pub inactive: u64,
    /// `use_temp_path=`: value as written; without effect.
    pub use_temp_path: bool,
    /// `loader_files=`: maximum number of files that the loader reads per iteration.
    pub loader_files: u64,
    /// `loader_sleep=`: pause between iterations of the loader, in ms.
    pub loader_sleep: u64,
    /// `loader_threshold=`: maximum duration of an iteration of the loader, in ms.
    pub loader_threshold: u64,
    /// `manager_files=`: maximum number of files that the manager removes per iteration.
    pub manager_files: u64,
    /// `manager_sleep=`: pause between iterations of the manager, in ms.
    pub manager_sleep: u64,
    /// `manager_threshold=`: maximum duration of an iteration of the manager, in ms.
    pub manager_threshold: u64,
    /// `max_fetches=` (only in Myriad): maximum number of concurrent requests to origins for pages of the zone, at
    /// least 1.
    pub max_fetches: u32,
    /// `fetch_queue=` (only in Myriad): maximum number of requests that wait because `max_fetches` is reached.
    pub fetch_queue: u32,
    /// `cluster=on` (only in Myriad): purges of the zone are exchanged with the other nodes of the cluster, if there is
    /// a `cluster` block.
    pub cluster: bool,
    /// Position of the directive.
    pub span: Span,
}
