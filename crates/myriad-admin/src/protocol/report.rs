//! Reports about a zone, a page, a purge, or a server of an upstream group.

use serde::{Deserialize, Serialize};

/// Statistics of a zone at one moment. Counts are since the start of the worker process, unless stated otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ZoneReport {
    /// Name of the cache zone.
    pub zone: String,
    /// Folder of the zone's cache files.
    pub path: String,
    /// Memory tier.
    pub memory: MemoryReport,
    /// Disk tier; `None` if it is not open.
    pub disk: Option<DiskReport>,
    /// Number of requests by cache status.
    pub requests: RequestCounts,
    /// Number of fetches from origins and reads from disk in progress.
    pub fetching: usize,
    /// Number of pages stored in memory, including those read from disk.
    pub stored: u64,
    /// Number of pages that were not stored because the memory of the zone had no space for them.
    pub rejected: u64,
    /// Number of pages that purges removed from memory.
    pub purged: u64,
    /// Pattern purges whose search for pages is in progress.
    pub running_purges: Vec<RunningPurgeReport>,
}

/// Memory tier of a zone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryReport {
    /// Number of pages in memory; each variant of a page counts as one.
    pub pages: usize,
    /// Current number of cache keys in memory.
    pub keys: usize,
    /// Current size in bytes, including overhead.
    pub bytes: u64,
    /// Current maximum size in bytes: `memory=`, or less under memory pressure.
    pub limit_bytes: u64,
    /// Number of cache keys that were evicted to stay within the limit.
    pub evicted: u64,
    /// Number of cache keys that were removed because they were not requested for the time `inactive=`.
    pub inactive: u64,
}

/// Disk tier of a zone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskReport {
    /// Current number of cache files.
    pub files: usize,
    /// Current size in bytes; each file counts as whole blocks of 4 KB.
    pub bytes: u64,
    /// Maximum size in bytes (`max_size=`); `None` for no limit.
    pub limit_bytes: Option<u64>,
    /// True if the index contains all files of the zone's folder; false while the folder is being scanned after a
    /// start.
    pub recovered: bool,
    /// Number of pages read.
    pub reads: u64,
    /// Number of pages written.
    pub writes: u64,
    /// Number of pages that were not written, for example because of a full queue, a lack of space, or a disk error.
    pub dropped: u64,
    /// Number of files that were evicted to free space, or because their key had too many variants.
    pub evicted: u64,
    /// Number of files that were removed because they were not requested for the time `inactive=`.
    pub inactive: u64,
    /// Number of files that other programs removed.
    pub vanished: u64,
    /// Number of files that were quarantined or deleted because they were damaged, truncated, foreign or of another
    /// version.
    pub quarantined: u64,
}

/// Number of requests by `$upstream_cache_status`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestCounts {
    /// Number of requests with the cache status `HIT`.
    pub hit: u64,
    /// Number of requests with the cache status `MISS`.
    pub miss: u64,
    /// Number of requests with the cache status `EXPIRED`.
    pub expired: u64,
    /// Number of requests with the cache status `STALE`.
    pub stale: u64,
    /// Number of requests with the cache status `UPDATING`.
    pub updating: u64,
    /// Number of requests with the cache status `REVALIDATED`.
    pub revalidated: u64,
    /// Number of requests with the cache status `BYPASS`.
    pub bypass: u64,
}

impl RequestCounts {
    /// Returns the fraction of requests (0 to 1) that were served from the cache without waiting for an origin;
    /// `BYPASS` is not included. Returns `None` if there were no other requests.
    pub fn hit_rate(&self) -> Option<f64> {
        (self.total() > 0).then(|| self.served() as f64 / self.total() as f64)
    }

    /// Returns the number of requests that were served from the cache without waiting for an origin.
    pub fn served(&self) -> u64 {
        self.hit + self.stale + self.updating
    }

    /// Returns the number of requests that could have been served from the cache, which excludes `BYPASS`.
    pub fn total(&self) -> u64 {
        self.served() + self.miss + self.expired + self.revalidated
    }

    /// Returns the sums of both counts.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            hit: self.hit + other.hit,
            miss: self.miss + other.miss,
            expired: self.expired + other.expired,
            stale: self.stale + other.stale,
            updating: self.updating + other.updating,
            revalidated: self.revalidated + other.revalidated,
            bypass: self.bypass + other.bypass,
        }
    }
}

/// Purge by pattern whose search for pages is in progress.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunningPurgeReport {
    /// Sequence number of the purge in its zone.
    pub number: u64,
    /// Description of the purge, as in the error log.
    pub name: String,
    /// Number of pages found and purged so far.
    pub count: usize,
}

/// Tiers of a cache zone (memory, disk) that contain a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// The page is in memory only.
    #[default]
    Memory,
    /// The page is in memory and in a file.
    Both,
    /// The page is in a file only.
    Disk,
}

/// Stored page: a variant of a cache key, with its compressed versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PageReport {
    /// Name of the zone.
    pub zone: String,
    /// Cache key; control characters and bytes that are not UTF-8 are escaped as `\xNN`.
    pub key: String,
    /// URL for which the page was fetched; `None` if it is not known.
    pub url: Option<String>,
    /// Values that identify the variant: request headers that `Vary` lists, and the class of the device; `None` if the
    /// key of the page has no variants.
    pub variant: Option<String>,
    /// Status code of the stored response.
    pub status: u16,
    /// Media type of the stored response.
    pub media_type: String,
    /// Time of the report, in milliseconds since the epoch.
    pub now_ms: u64,
    /// Time at which the page was stored, in milliseconds since the epoch.
    pub stored_ms: u64,
    /// Time until which the page is fresh, in milliseconds since the epoch; 0 or a time in the past after a soft purge
    /// or an invalidation.
    pub fresh_until_ms: u64,
    /// Time until which the headers of the page permit to serve it stale during a refresh, in milliseconds since the
    /// epoch; [`u64::MAX`] for no limit. Directives may permit more or less.
    pub stale_updating_until_ms: u64,
    /// Time until which the headers of the page permit to serve it stale if the refresh fails, in milliseconds since
    /// the epoch; [`u64::MAX`] for no limit. Directives may permit more or less.
    pub stale_error_until_ms: u64,
    /// True if a refresh is in progress.
    pub updating: bool,
    /// Number of cache hits since the page was loaded into memory; 0 if it is only on disk.
    pub hits: u64,
    /// Cache tags of the page, by which it can be purged.
    pub tags: Vec<String>,
    /// Tiers that contain the page.
    pub tier: Tier,
    /// Size of the uncompressed body, in bytes.
    pub bytes: u64,
    /// Size of the page in memory, in bytes; 0 if it is only on disk.
    pub memory_bytes: u64,
    /// Compressed versions of the body.
    pub encodings: Vec<EncodingReport>,
    /// Value of `ETag`; `None` if the response has none.
    pub etag: Option<String>,
    /// Value of `Last-Modified`; `None` if the response has none.
    pub last_modified: Option<String>,
    /// File of the page; `None` if it is in memory only.
    pub file: Option<String>,
    /// ESI fragments of the page (`esi`), and its use for known visitors; `None` if the page has no such data.
    pub esi: Option<EsiReport>,
    /// Optimized form of the page (`optimize`), or the reason why it has none; `None` before either is known, and for
    /// a page that is on disk only.
    pub optimized: Option<OptimizedReport>,
}

/// Optimized form of a page, or the reason why it has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OptimizedReport {
    /// Size of the uncompressed form, in bytes; `None` if the page has no optimized form.
    pub bytes: Option<u64>,
    /// True if a style sheet, script or image that the form uses has changed since: the original page is sent until a
    /// request causes a new form.
    pub is_outdated: bool,
    /// Paths of the style sheets and scripts that the optimizer made for the page.
    pub bundles: Vec<String>,
    /// Reason why the page has no optimized form; `None` if the filters ran.
    pub reason: Option<String>,
    /// Result of each filter.
    pub filters: Vec<FilterResultReport>,
}

/// WebP copy of an image, or the reason why there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImageCopyReport {
    /// Name of the cache zone.
    pub zone: String,
    /// URL of the image.
    pub url: String,
    /// Length of the image in bytes.
    pub original_bytes: u64,
    /// Length of the copy in bytes; `None` if there is none.
    pub copy_bytes: Option<u64>,
    /// Reason why there is no copy; `None` if there is one.
    pub reason: Option<String>,
    /// Milliseconds after which a request may cause another attempt; `None` if there is a copy, or if this version of
    /// the image will not have one.
    pub retry_after_ms: Option<u64>,
}

/// Result of a filter of the page optimizer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilterResultReport {
    /// Name of the filter.
    pub filter: String,
    /// Number of parts (files, images, pages) that the filter changed.
    pub changed: u64,
    /// Number of bytes before compression that the filter saved.
    pub bytes_saved: u64,
    /// Number of requests that the filter saved.
    pub requests_saved: u64,
    /// Parts that the filter left unchanged.
    pub skipped: Vec<SkippedReport>,
}

/// Part of a page that a filter left unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkippedReport {
    /// URL of the part, or another description.
    pub subject: String,
    /// Reason why the filter left the part unchanged.
    pub reason: String,
}

/// ESI data of a page: its fragments, which are fetched separately, and its use for known visitors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EsiReport {
    /// True if known visitors (such as logged-in users) may receive the page without a comparison by the origin.
    pub known: bool,
    /// True if a known visitor may receive the page only after the origin has compared it with the page of a visitor of
    /// the same class; `known` is then false.
    pub compared: bool,
    /// Reason why known visitors may not receive the page, or why it must be compared: that of the origin, or a
    /// rejected include. `None` if there is none.
    pub why: Option<String>,
    /// Text that identifies the content of the page, for `X-Myriad-Visitor`; empty if the page need not be compared.
    pub version: String,
    /// Stored body, without inserted fragments; each byte that differs at each rendering (noise) is 1. `None` if it was
    /// not requested, is not UTF-8, not in memory, or hidden from the client.
    pub body: Option<String>,
    /// Fragments in the order of their positions.
    pub parts: Vec<PartReport>,
}

/// ESI fragment of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartReport {
    /// Path and query of the fragment.
    pub src: String,
    /// Path and query that is used if `src` cannot be fetched; `None` if there is none.
    pub alt: Option<String>,
    /// Position of the fragment in the body of the page, in bytes.
    pub at: u64,
    /// Number of bytes of the page at this position that the fragment replaces; they are sent if it is not inserted.
    pub instead: u32,
    /// True if the fragment is private to each visitor; false if it is shared.
    pub private: bool,
}

impl PageReport {
    /// Returns the time since the page was stored, in milliseconds.
    pub fn age_ms(&self) -> u64 {
        self.now_ms.saturating_sub(self.stored_ms)
    }

    /// Returns whether the page is fresh.
    pub fn is_fresh(&self) -> bool {
        self.now_ms < self.fresh_until_ms
    }

    /// Returns the total size of the uncompressed body and its compressed versions, in bytes.
    pub fn all_bytes(&self) -> u64 {
        self.bytes + self.encodings.iter().map(|encoding| encoding.bytes).sum::<u64>()
    }
}

/// Compressed version of a body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EncodingReport {
    /// Content coding: `gzip`, `br`, `zstd`.
    pub coding: String,
    /// Compressed size, in bytes.
    pub bytes: u64,
    /// Compression level.
    pub level: u8,
}

/// Result of a purge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PurgeReport {
    /// Kind of the purge: `url`, `tag`, `wildcard`, `regex`, `host` or `all`.
    pub kind: String,
    /// URL, tag, host or pattern; empty for `all`.
    pub what: String,
    /// Number of purged pages; `None` if a pattern purge is still in progress.
    pub purged: Option<u64>,
    /// True if `purged` is a lower bound: files of a previous process are still being scanned. The purge covers them
    /// too.
    pub at_least: bool,
    /// Receipts of the nodes of the cluster; `None` if no purged zone belongs to a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ReceiptsReport>,
}

/// Confirmations (receipts) of a purge by the nodes of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReceiptsReport {
    /// Names of the nodes on which the purge is in effect, including this node.
    pub applied: Vec<String>,
    /// Names of the nodes that have not confirmed the purge.
    pub missing: Vec<String>,
    /// True if this node has read the list of the cluster's nodes since its start; false if `missing` may lack nodes.
    pub nodes_known: bool,
    /// True if the purge is in the cluster's log of purges; false if this node sends it later.
    pub sent: bool,
    /// Time from the purge on this node until the last receipt arrived or the waiting time had passed, in milliseconds.
    pub ms: u64,
    /// The receipts as a phrase, such as `applied on 3 of 3 nodes in 4 ms`.
    pub text: String,
}

/// Server of an upstream group, or one of its addresses, at one moment. Counts are since the start of the worker
/// process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PeerReport {
    /// Configuration block of the upstream group: `http` or `stream`.
    pub block: String,
    /// Name of the upstream group.
    pub group: String,
    /// Name of the server in the configuration.
    pub server: String,
    /// Address to which connections are made.
    pub address: String,
    /// State of the server: `up`, `draining`, `down`, `unavail` after too many failures, `checking` or `unhealthy`
    /// according to health checks.
    pub state: String,
    /// True if an administrator has set the state by a command, which overrides the configuration.
    pub ordered: bool,
    /// Weight in load balancing.
    pub weight: u32,
    /// True if the server is used only when all others are unavailable.
    pub backup: bool,
    /// Maximum number of concurrent requests (`max_conns`), 0 for no limit.
    pub max_conns: u32,
    /// Number of requests or connections in progress.
    pub active: u32,
    /// Number of requests or connections sent to the server.
    pub requests: u64,
    /// Number of failed requests or connections to the server.
    pub failures: u64,
    /// Number of processes of the server's PHP-FPM pool at the last poll; `None` if no recent status is known
    /// (`origin_queue ... status=`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub children: Option<u32>,
    /// Number of idle processes of the PHP-FPM pool at the last poll; `None` like `children`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub children_idle: Option<u32>,
    /// Number of connections that waited for a process of the PHP-FPM pool at the last poll; `None` like `children`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen_queue: Option<u32>,
}
