//! The facts: of a zone, of a page, of a purge, of a server of a group.

use serde::{Deserialize, Serialize};

/// The figures of one zone at one moment; counts since the worker process started unless stated otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ZoneReport {
    /// Its name.
    pub zone: String,
    /// The folder of its files.
    pub path: String,
    /// What is in memory.
    pub memory: MemoryReport,
    /// What is on disk; none where the folder was not opened.
    pub disk: Option<DiskReport>,
    /// What its requests came to.
    pub requests: RequestCounts,
    /// Fetches under way now.
    pub fetching: usize,
    /// Pages stored.
    pub stored: u64,
    /// Pages that were too large or came when there was no room.
    pub rejected: u64,
    /// Pages that purges took out of memory.
    pub purged: u64,
    /// Purges by pattern whose pages are still being looked for.
    pub running_purges: Vec<RunningPurgeReport>,
}

/// A tier in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryReport {
    /// Pages now, each variant one.
    pub pages: usize,
    /// Keys now.
    pub keys: usize,
    /// Bytes now, overhead included.
    pub bytes: u64,
    /// The cap, bytes (`memory=`).
    pub limit_bytes: u64,
    /// Keys removed to hold the cap.
    pub evicted: u64,
    /// Keys removed because nobody asked for them (`inactive=`).
    pub inactive: u64,
}

/// A tier on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskReport {
    /// Files now.
    pub files: usize,
    /// Bytes now, in blocks of 4 KB.
    pub bytes: u64,
    /// The cap, bytes (`max_size=`); none where there is none.
    pub limit_bytes: Option<u64>,
    /// Whether every file of the folder is known: false while a start still walks it.
    pub recovered: bool,
    /// Pages read.
    pub reads: u64,
    /// Pages written.
    pub writes: u64,
    /// Pages not written: a full queue, no room, a failing disk.
    pub dropped: u64,
    /// Files removed to hold the cap.
    pub evicted: u64,
    /// Files removed because nobody asked for them (`inactive=`).
    pub inactive: u64,
    /// Files that somebody else removed.
    pub vanished: u64,
    /// Files removed because they were damaged, cut short, foreign or of another version.
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
    /// The part of requests to the cache that it answered without waiting for an origin; none where none asked.
    pub fn hit_rate(&self) -> Option<f64> {
        (self.asked() > 0).then(|| self.served() as f64 / self.asked() as f64)
    }

    /// Requests that the cache answered without waiting for an origin.
    pub fn served(&self) -> u64 {
        self.hit + self.stale + self.updating
    }

    /// Requests that asked the cache.
    pub fn asked(&self) -> u64 {
        self.served() + self.miss + self.expired + self.revalidated
    }

    /// The sum of two zones.
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

/// A purge by pattern that is not over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunningPurgeReport {
    /// Its place in the zone's sequence.
    pub number: u64,
    /// What it covers, for people.
    pub name: String,
    /// Pages found so far.
    pub count: usize,
}

/// The tiers that hold a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// In memory alone.
    #[default]
    Memory,
    /// In memory and in a file.
    Both,
    /// In a file alone.
    Disk,
}

/// One stored page: a variant of a key with its encodings. Times are milliseconds since the Unix epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PageReport {
    /// Its zone.
    pub zone: String,
    /// Its key.
    pub key: String,
    /// What it was fetched for; none where that is not known.
    pub url: Option<String>,
    /// Which variant of the key it is: what the fields that `Vary` names said; none where there are none.
    pub variant: Option<String>,
    /// The status.
    pub status: u16,
    /// The media type.
    pub media_type: String,
    /// When it was asked, for ages.
    pub now_ms: u64,
    /// When it was stored.
    pub stored_ms: u64,
    /// The time until which it is fresh; 0 after a soft purge.
    pub fresh_until_ms: u64,
    /// The time until which it may be served while somebody fetches a newer one; [`u64::MAX`] for any time.
    pub stale_updating_until_ms: u64,
    /// The time until which it may be served in the place of an error; [`u64::MAX`] for any time.
    pub stale_error_until_ms: u64,
    /// Whether somebody fetches a newer one now.
    pub updating: bool,
    /// How often it was found since it came into memory.
    pub hits: u64,
    /// Its tags.
    pub tags: Vec<String>,
    /// The tiers that hold it.
    pub tier: Tier,
    /// Bytes of the body.
    pub bytes: u64,
    /// Bytes of memory that all of it takes.
    pub memory_bytes: u64,
    /// The body in other codings.
    pub encodings: Vec<EncodingReport>,
    /// `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub last_modified: Option<String>,
    /// Its file.
    pub file: Option<String>,
    /// What its origin has said of its parts (`esi`); none where it has said nothing.
    pub esi: Option<EsiReport>,
}

/// Parts of a page that are not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EsiReport {
    /// Whether known visitors may read the page; its parts are then private, else everybody's.
    pub known: bool,
    /// Why they may not, as its origin says.
    pub why: Option<String>,
    /// The parts, in the order of the page.
    pub parts: Vec<PartReport>,
}

/// A part of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartReport {
    /// Path and query that it is asked for.
    pub src: String,
    /// What is asked for where that fails.
    pub alt: Option<String>,
    /// Where it stands in the page, bytes from the beginning.
    pub at: u64,
    /// Bytes of the page that stand for it where it is not filled in.
    pub instead: u32,
    /// Whether it is one visitor's, or everybody's.
    pub private: bool,
}

impl PageReport {
    /// Milliseconds since it was stored.
    pub fn age_ms(&self) -> u64 {
        self.now_ms.saturating_sub(self.stored_ms)
    }

    /// Whether it is fresh.
    pub fn is_fresh(&self) -> bool {
        self.now_ms < self.fresh_until_ms
    }

    /// Bytes of the body in all its codings.
    pub fn all_bytes(&self) -> u64 {
        self.bytes + self.encodings.iter().map(|encoding| encoding.bytes).sum::<u64>()
    }
}

/// A body in another coding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EncodingReport {
    /// `gzip`, `br`, `zstd`.
    pub coding: String,
    /// Its length.
    pub bytes: u64,
    /// The level that made it.
    pub level: u8,
}

/// What became of one purge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PurgeReport {
    /// `url`, `tag`, `wildcard`, `regex`, `host` or `all`.
    pub kind: String,
    /// The URL, tag, host or pattern; empty for `all`.
    pub what: String,
    /// Pages that were purged; none where a pattern was accepted and its pages are still being looked for.
    pub purged: Option<u64>,
    /// Whether there may have been more: files of a former start are still being found. They are covered.
    pub at_least: bool,
}

/// A server of an `upstream` group at one moment, or one address of it; counts since the worker process started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PeerReport {
    /// The block that its group stands in: `http` or `stream`.
    pub block: String,
    /// Its group.
    pub group: String,
    /// What the configuration calls it.
    pub server: String,
    /// Where it listens.
    pub address: String,
    /// `up`, `draining`, `down`, `unavail` where it has failed too often, `checking` and `unhealthy` by its checks.
    pub state: String,
    /// Whether an administrator has said so, and not the configuration.
    pub ordered: bool,
    /// Its share of the requests.
    pub weight: u32,
    /// Whether it is used only when the others are unavailable.
    pub backup: bool,
    /// Most requests at once (`max_conns`), 0 for no limit.
    pub max_conns: u32,
    /// Requests, or connections, that it is working on.
    pub active: u32,
    /// Those that it was given.
    pub requests: u64,
    /// Those that failed.
    pub failures: u64,
    /// Children of its pool of PHP, as the pool said last; none where it is not asked (`origin_queue ... status=`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub children: Option<u32>,
    /// Those of them that were idle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub children_idle: Option<u32>,
    /// Connections that none of them had accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen_queue: Option<u32>,
}
