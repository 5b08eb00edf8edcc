//! Ranked pages, history, purges, tags.

use serde::{Deserialize, Serialize};

use crate::PageReport;

/// Pages by what they cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TopsReport {
    /// What they are ranked by: `requests`, `misses`, `slow`, `bytes`.
    pub by: String,
    /// Since when they are counted: ten to twenty minutes.
    pub since_ms: u64,
    /// Until when.
    pub to_ms: u64,
    /// The pages, the first of the ranking first.
    pub pages: Vec<TopPage>,
}

/// A page of a ranking.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TopPage {
    /// Its URL as the visitor sent it, at most 512 bytes.
    pub url: String,
    /// What it is ranked by: requests, misses, milliseconds of the slowest answer, bytes.
    pub count: f64,
    /// The most by which that may be too great; 0 where it is exact.
    pub over: f64,
    /// Requests; none where this ranking does not know.
    pub requests: Option<u64>,
    /// Requests that were no hit.
    pub misses: u64,
    /// Bytes sent; none where this ranking does not know.
    pub bytes: Option<u64>,
    /// The slowest answer that was no hit, milliseconds.
    pub slowest_ms: Option<f64>,
    /// How long those took on average, milliseconds.
    pub mean_ms: Option<f64>,
    /// The status of the last answer.
    pub status: u16,
    /// When it was over.
    pub last_ms: u64,
    /// `$upstream_cache_status` of the last that was no hit; none where there is none.
    pub cache: Option<String>,
    /// Why that was no hit; none where all were hits.
    pub reason: Option<String>,
    /// All reasons, the most frequent first.
    pub reasons: Vec<ReasonCount>,
}

/// How many requests had a reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReasonCount {
    /// The word.
    pub reason: String,
    /// How many.
    pub count: u64,
}

/// Figures of the past.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HistoryReport {
    /// Seconds of a step.
    pub step_s: u64,
    /// The moments that were asked for.
    pub from_ms: u64,
    /// See [`Self::from_ms`].
    pub to_ms: u64,
    /// Whether a history is kept at all (`history`).
    pub kept: bool,
    /// How many steps there are.
    pub points: usize,
    /// When each of them begins.
    pub at_ms: Vec<u64>,
    /// The figures.
    pub series: HistorySeries,
}

/// A list for each figure, as long as there are steps; `null` where nothing is known of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    missing_docs,
    reason = "the names are those of a tick's counts; what else there is says docs/dashboard.md"
)]
pub struct HistorySeries {
    pub requests: Vec<Option<u64>>,
    pub bytes: Vec<Option<u64>>,
    pub fetches: Vec<Option<u64>>,
    pub accepted: Vec<Option<u64>>,
    pub status_4xx: Vec<Option<u64>>,
    pub status_5xx: Vec<Option<u64>>,
    pub hit: Vec<Option<u64>>,
    pub miss: Vec<Option<u64>>,
    pub expired: Vec<Option<u64>>,
    pub stale: Vec<Option<u64>>,
    pub updating: Vec<Option<u64>>,
    pub revalidated: Vec<Option<u64>>,
    pub bypass: Vec<Option<u64>>,
    pub uncached: Vec<Option<u64>>,
    pub first_byte_p50: Vec<Option<f64>>,
    pub first_byte_p90: Vec<Option<f64>>,
    pub first_byte_p99: Vec<Option<f64>>,
    pub miss_p50: Vec<Option<f64>>,
    pub miss_p99: Vec<Option<f64>>,
    pub connections: Vec<Option<u64>>,
    pub memory_bytes: Vec<Option<u64>>,
    pub disk_bytes: Vec<Option<u64>>,
    pub origin_active: Vec<Option<u64>>,
    pub listen_queue: Vec<Option<u64>>,
    pub waiting: Vec<Option<u64>>,
}

/// A purge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PurgeEvent {
    /// When it was made.
    pub at_ms: u64,
    /// Its zone.
    pub zone: String,
    /// `url`, `tags`, `wildcard`, `regex`, `key` or `all`.
    pub kind: String,
    /// What it covers, as the error log says it; at most 500 bytes.
    pub what: String,
    /// Whether the pages are stale rather than gone.
    pub soft: bool,
    /// Who has asked: `request`, `origin`, `administrator`.
    pub by: String,
    /// Pages that it covered; none while they are looked for.
    pub pages: Option<u64>,
    /// Whether there may have been more.
    pub at_least: bool,
    /// Its place in the zone's sequence.
    pub number: u64,
}

/// The tags of stored pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TagsReport {
    /// The tags that most pages have.
    pub tags: Vec<TagReport>,
    /// Pages that were looked at.
    pub looked_at: u64,
    /// Whether these were all.
    pub complete: bool,
}

/// A tag.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TagReport {
    /// Its name.
    pub tag: String,
    /// Pages that have it.
    pub pages: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
}

/// Senders with `X-Forwarded-For` that are not trusted, since the process started. Cache hits are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SendersReport {
    /// The senders, the one with most requests first.
    pub senders: Vec<SenderReport>,
    /// Requests of further senders.
    pub others: u64,
}

/// A sender.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SenderReport {
    /// Its address, or `unix:`.
    pub address: String,
    /// Its requests.
    pub requests: u64,
}

/// The way of a request through the configuration, and what is stored for its URL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InspectReport {
    /// The URL that was asked about.
    pub url: String,
    /// The method.
    pub method: String,
    /// The name of the server that would answer.
    pub server: Option<String>,
    /// The location whose content it would be.
    pub location: Option<String>,
    /// The cache zone; none where the place has none.
    pub zone: Option<String>,
    /// The key; none where the request may not read the cache.
    pub key: Option<String>,
    /// Whether the request may read the cache: `yes`, or `no: ` and why.
    pub read: Option<String>,
    /// Whether and for how long its answer would be stored; none where that is not asked, as a page is stored.
    pub store: Option<String>,
    /// All that is decided, in its order.
    pub lines: Vec<InspectedLine>,
    /// The pages that are stored for the URL.
    pub stored: Vec<PageReport>,
}

/// One thing that is decided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InspectedLine {
    /// What it is about: `server`, `rule`, `location`, `cache`, ...
    pub topic: String,
    /// What was asked: a directive, or words.
    pub text: String,
    /// What it came to; may be empty.
    pub outcome: String,
    /// Where that is written: `nginx.conf:12`.
    pub at: Option<String>,
}
