//! Reports: about a zone, a page, a purge, a server of a group.

use serde::{Deserialize, Serialize};

/// Statistics of a zone at one moment; counts since the start of the worker process unless stated otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ZoneReport {
    /// Name.
    pub zone: String,
    /// Folder of its files.
    pub path: String,
    /// Memory tier.
    pub memory: MemoryReport,
    /// Disk tier; `None` if the folder was not opened.
    pub disk: Option<DiskReport>,
    /// Requests by cache status.
    pub requests: RequestCounts,
    /// Fetches in progress.
    pub fetching: usize,
    /// Pages stored.
    pub stored: u64,
    /// Pages that were too large or arrived when the zone was full.
    pub rejected: u64,
    /// Pages removed from memory by purges.
    pub purged: u64,
    /// Pattern purges in progress.
    pub running_purges: Vec<RunningPurgeReport>,
}

/// Memory tier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryReport {
    /// Current number of pages; each variant counts as one.
    pub pages: usize,
    /// Current number of keys.
    pub keys: usize,
    /// Current size in bytes, including overhead.
    pub bytes: u64,
    /// Maximum size in bytes (`memory=`).
    pub limit_bytes: u64,
    /// Keys evicted to stay within the limit.
    pub evicted: u64,
    /// Keys removed because they were not requested (`inactive=`).
    pub inactive: u64,
}

/// Disk tier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskReport {
    /// Current number of files.
    pub files: usize,
    /// Current size in bytes, in blocks of 4 KB.
    pub bytes: u64,
    /// Maximum size in bytes (`max_size=`), if any.
    pub limit_bytes: Option<u64>,
    /// Set if every file of the folder is known; false while the folder is being scanned after a start.
    pub recovered: bool,
    /// Pages read.
    pub reads: u64,
    /// Pages written.
    pub writes: u64,
    /// Pages not written because of a full queue, a lack of space, or a disk error.
    pub dropped: u64,
    /// Files evicted to stay within the limit.
    pub evicted: u64,
    /// Files removed because they were not requested (`inactive=`).
    pub inactive: u64,
    /// Files removed by other programs.
    pub vanished: u64,
    /// Files removed because they were damaged, truncated, foreign or of another version.
    pub quarantined: u64,
}

/// Requests by `$upstream_cache_status`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestCounts {
    /// `HIT`.
    pub hit: u64,
    /// `MISS`.
    pub miss: u64,
    /// `EXPIRED`.
    pub expired: u64,
    /// `STALE`.
    pub stale: u64,
    /// `UPDATING`.
    pub updating: u64,
    /// `REVALIDATED`.
    pub revalidated: u64,
    /// `BYPASS`.
    pub bypass: u64,
}

impl RequestCounts {
    /// Returns the share of cache requests answered without waiting for an origin; `None` without requests.
    pub fn hit_rate(&self) -> Option<f64> {
        (self.total() > 0).then(|| self.served() as f64 / self.total() as f64)
    }

    /// Returns the number of requests answered by the cache without waiting for an origin.
    pub fn served(&self) -> u64 {
        self.hit + self.stale + self.updating
    }

    /// Returns the number of requests to the cache.
    pub fn total(&self) -> u64 {
        self.served() + self.miss + self.expired + self.revalidated
    }

    /// Returns the sum of two zones.
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

/// Pattern purge in progress.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunningPurgeReport {
    /// Sequence number in the zone.
    pub number: u64,
    /// Description of the purge.
    pub name: String,
    /// Pages found so far.
    pub count: usize,
}

/// Tiers that contain a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// In memory only.
    #[default]
    Memory,
    /// In memory and in a file.
    Both,
    /// In a file only.
    Disk,
}

/// Stored page: a variant of a key with its encodings. Times are milliseconds since the Unix epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PageReport {
    /// Name of the zone.
    pub zone: String,
    /// Cache key.
    pub key: String,
    /// URL that the page was fetched for, if known.
    pub url: Option<String>,
    /// Values of the fields in `Vary`, which identify the variant of the key; `None` without `Vary`.
    pub variant: Option<String>,
    /// Status code.
    pub status: u16,
    /// Media type.
    pub media_type: String,
    /// Time of the report, for ages.
    pub now_ms: u64,
    /// Time of storing.
    pub stored_ms: u64,
    /// Time until which the page is fresh; 0 after a soft purge.
    pub fresh_until_ms: u64,
    /// Time until which the stale page may be served during an update; [`u64::MAX`] for no limit.
    pub stale_updating_until_ms: u64,
    /// Time until which the stale page may be served instead of an error; [`u64::MAX`] for no limit.
    pub stale_error_until_ms: u64,
    /// Set if an update is in progress.
    pub updating: bool,
    /// Number of hits since the page is in memory.
    pub hits: u64,
    /// Tags of the page.
    pub tags: Vec<String>,
    /// Tiers that contain the page.
    pub tier: Tier,
    /// Size of the body in bytes.
    pub bytes: u64,
    /// Size of the page in memory, in bytes.
    pub memory_bytes: u64,
    /// Body in other codings.
    pub encodings: Vec<EncodingReport>,
    /// `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub last_modified: Option<String>,
    /// File of the page.
    pub file: Option<String>,
    /// Fragments that the origin has declared (`esi`); `None` if it has declared none.
    pub esi: Option<EsiReport>,
}

/// Fragments of a page that are fetched separately.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EsiReport {
    /// Set if known visitors may read the page; its fragments are then private, otherwise shared.
    pub known: bool,
    /// Reason of the origin why known visitors may not read the page.
    pub why: Option<String>,
    /// Fragments in the order of the page.
    pub parts: Vec<PartReport>,
}

/// Fragment of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartReport {
    /// Path and query of the fragment.
    pub src: String,
    /// Alternative path if the fragment cannot be fetched.
    pub alt: Option<String>,
    /// Position in the page, in bytes.
    pub at: u64,
    /// Number of bytes of the page that replace the fragment if it is not inserted.
    pub instead: u32,
    /// Set if the fragment is private, otherwise it is shared.
    pub private: bool,
}

impl PageReport {
    /// Returns the age in milliseconds.
    pub fn age_ms(&self) -> u64 {
        self.now_ms.saturating_sub(self.stored_ms)
    }

    /// Returns whether the page is fresh.
    pub fn is_fresh(&self) -> bool {
        self.now_ms < self.fresh_until_ms
    }

    /// Returns the size of the body in all its codings, in bytes.
    pub fn all_bytes(&self) -> u64 {
        self.bytes + self.encodings.iter().map(|encoding| encoding.bytes).sum::<u64>()
    }
}

/// Body in another coding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EncodingReport {
    /// `gzip`, `br`, `zstd`.
    pub coding: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Compression level.
    pub level: u8,
}

/// Result of a purge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PurgeReport {
    /// `url`, `tag`, `wildcard`, `regex`, `host` or `all`.
    pub kind: String,
    /// URL, tag, host or pattern; empty for `all`.
    pub what: String,
    /// Number of purged pages; `None` if a pattern purge is in progress.
    pub purged: Option<u64>,
    /// Set if further pages may exist, because the files of a previous start are still being scanned. The purge covers
    /// them too.
    pub at_least: bool,
}

/// Server of an `upstream` group, or one of its addresses, at one moment; counts since the start of the worker process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PeerReport {
    /// Configuration block of its group: `http` or `stream`.
    pub block: String,
    /// Name of the group.
    pub group: String,
    /// Name in the configuration.
    pub server: String,
    /// Address of the server.
    pub address: String,
    /// `up`, `draining`, `down`, `unavail` after too many failures, `checking` and `unhealthy` by health checks.
    pub state: String,
    /// Set if an administrator has set the state, not the configuration.
    pub ordered: bool,
    /// Weight in load balancing.
    pub weight: u32,
    /// Set if the server is used only when the others are unavailable.
    pub backup: bool,
    /// Maximum number of concurrent requests (`max_conns`), 0 for no limit.
    pub max_conns: u32,
    /// Requests or connections in progress.
    pub active: u32,
    /// Number of requests or connections sent to it.
    pub requests: u64,
    /// Number of failed requests or connections.
    pub failures: u64,
    /// Children of its PHP pool at the last poll; `None` if it is not polled (`origin_queue ... status=`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub children: Option<u32>,
    /// Idle children.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub children_idle: Option<u32>,
    /// Connections that no child had accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen_queue: Option<u32>,
}
