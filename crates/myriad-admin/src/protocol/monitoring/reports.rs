//! Reports: ranked pages, history, purges, tags, senders, inspections.

use serde::{Deserialize, Serialize};

use crate::protocol::PageReport;

/// Pages ranked by cost. Times are in milliseconds since the epoch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TopsReport {
    /// Ranking: `requests`, `misses`, `slow`, `bytes`.
    pub by: String,
    /// Start of the counting interval, which is less than thirty minutes long, in milliseconds since the epoch.
    pub since_ms: u64,
    /// End of the counting interval, in milliseconds since the epoch.
    pub to_ms: u64,
    /// Pages in the order of the ranking.
    pub pages: Vec<TopPage>,
}

/// Page of a ranking. All numbers except `count` start when the page entered the ranking.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TopPage {
    /// URL with the target as sent by the client; if it is longer than 512 bytes, truncated and marked with `…`.
    pub url: String,
    /// Value by which the page is ranked: number of requests or misses, milliseconds of the slowest response, or bytes.
    pub count: f64,
    /// Upper bound of the error of `count`, which may be too high by this amount; 0 if it is exact.
    pub over: f64,
    /// Number of requests for the page; `None` in the rankings `misses` and `slow`, which do not count hits.
    pub requests: Option<u64>,
    /// Number of requests for the page that missed the cache, or were sent to an origin without a cache.
    pub misses: u64,
    /// Bytes sent to clients; `None` in the rankings `misses` and `slow`, which do not count hits.
    pub bytes: Option<u64>,
    /// Duration of the slowest request that missed the cache or was sent to an origin without a cache, in milliseconds;
    /// `None` if there was none.
    pub slowest_ms: Option<f64>,
    /// Average duration of requests that missed the cache or were sent to an origin without a cache, in milliseconds;
    /// `None` if there were none.
    pub mean_ms: Option<f64>,
    /// HTTP status of the last response; in the rankings `misses` and `slow`, of the last one that `misses` counts.
    pub status: u16,
    /// Time of the last response (that of `status`), in milliseconds since the epoch.
    pub last_ms: u64,
    /// `$upstream_cache_status` of the last response that was not a cache hit; `None` if there was no such response or
    /// it had no status.
    pub cache: Option<String>,
    /// Keyword of the reason why the last response that was not a cache hit did not come from the cache; `None` if
    /// there was no such response.
    pub reason: Option<String>,
    /// Reasons why responses were not cache hits, at most eight, the most frequent first.
    pub reasons: Vec<ReasonCount>,
}

/// Number of requests with the same reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReasonCount {
    /// Keyword of the reason why a response was not a cache hit.
    pub reason: String,
    /// Number of requests with this reason.
    pub count: u64,
}

/// History of traffic figures, in steps of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HistoryReport {
    /// Length of a step, in seconds.
    pub step_s: u64,
    /// Start of the requested range, in milliseconds since the epoch.
    pub from_ms: u64,
    /// End of the requested range, in milliseconds since the epoch.
    pub to_ms: u64,
    /// True if a history is recorded (`history` is not `off`).
    pub kept: bool,
    /// Number of complete steps in the range; 0 if no history is recorded.
    pub points: usize,
    /// Start time of each complete step in the range, in milliseconds since the epoch.
    pub at_ms: Vec<u64>,
    /// Values of each figure, one per step.
    pub series: HistorySeries,
}

/// Values per step for each figure; `None` if the step was not recorded, and for a time also if the step had no such
/// requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    missing_docs,
    reason = "the names are those of the counters in a tick; docs/dashboard.md describes the others"
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

/// Purge of cached pages that was executed, or a change that no purge announced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PurgeEvent {
    /// Time of the purge or change, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Name of the cache zone.
    pub zone: String,
    /// `url`, `tags`, `wildcard`, `regex`, `key` or `all`; a purge of a host is also `all`. `changed` for a change
    /// without a purge.
    pub kind: String,
    /// Description of the purged pages, as in the error log, or of the change; if it is longer than 500 bytes,
    /// truncated and marked with `...`.
    pub what: String,
    /// True if the pages become stale instead of being removed: for a soft purge or an invalidation.
    pub soft: bool,
    /// Source of the purge: `request` (a purge request, or an unsafe method that invalidates a page), `origin` (a
    /// response header, or maintenance), `administrator` (command line or API), `cluster` (another node). `refresh` for
    /// the kind `changed`.
    pub by: String,
    /// Number of purged pages; `None` while they are being searched, 1 for the kind `changed`.
    pub pages: Option<u64>,
    /// True if `pages` is a lower bound.
    pub at_least: bool,
    /// Sequence number of the purge in its zone; for the kind `changed`, a time in milliseconds.
    pub number: u64,
    /// Changed text; `None` except for entries of the kind `changed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<TextChangeReport>,
}

/// First difference between two renderings of a page. Texts are on one line. `near` has at most 40 bytes of the page;
/// `before` and `after` have at most 80 bytes each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TextChangeReport {
    /// Host and target of the page.
    pub page: String,
    /// Text directly before the first difference between the page before and after the change.
    pub near: String,
    /// Text of the page before the change, from the difference on.
    pub before: String,
    /// Text of the page after the change, from the difference on.
    pub after: String,
}

/// Finding of the leak guard: a response that contained data of its visitor, and was not shared; or a page that depends
/// on an input which is not in its key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeakReport {
    /// Time of the last response with this finding, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Name of the cache zone.
    pub zone: String,
    /// Host and path of the page.
    pub page: String,
    /// Kind and name of the visitor's data or input, and its place in the response; never the data.
    pub what: String,
    /// Difference that a sampled verification found in the page, with shortened words; empty for other findings.
    pub difference: String,
    /// `suspected` (not verified), `unverified` (no comparable response), `confirmed` (the page differs without the
    /// data), `coincidence` (the page is the same without it) or `unkeyed` (the page depends on a field that is not in
    /// its key, and remains shared).
    pub state: String,
    /// Time until which the page is not stored, in milliseconds since the epoch; 0 if the page was not
    /// quarantined.
    pub until_ms: u64,
    /// Number of responses with this finding.
    pub count: u64,
    /// Current time, in milliseconds since the epoch.
    pub now_ms: u64,
}

/// Cache tags of stored pages, the most frequent first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TagsReport {
    /// Cache tags with the most pages, in descending order.
    pub tags: Vec<TagReport>,
    /// Number of scanned pages.
    pub looked_at: u64,
    /// True if all pages were scanned and all their tags counted.
    pub complete: bool,
}

/// Cache tag and the pages that have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TagReport {
    /// Name of the tag.
    pub tag: String,
    /// Number of pages with the tag.
    pub pages: u64,
    /// Total size of the pages' bodies, in bytes.
    pub bytes: u64,
}

/// Senders of `X-Forwarded-For` that are not trusted proxies, since the start of the process. Only requests sent to
/// origins are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SendersReport {
    /// Senders, ordered by number of requests, descending.
    pub senders: Vec<SenderReport>,
    /// Number of requests of further senders, which are not listed.
    pub others: u64,
}

/// Sender of `X-Forwarded-For`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SenderReport {
    /// IP address of the sender, or `unix:` for a Unix socket.
    pub address: String,
    /// Number of requests from this sender that were sent to origins.
    pub requests: u64,
}

/// Routing of a request through the configuration, and the pages stored for its URL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InspectReport {
    /// Inspected URL.
    pub url: String,
    /// Method of the inspected request.
    pub method: String,
    /// Name of the server that would answer; `None` if none was selected.
    pub server: Option<String>,
    /// Location whose handler would produce the content; `None` if no location applies.
    pub location: Option<String>,
    /// Cache zone that the location uses; `None` without a cache.
    pub zone: Option<String>,
    /// Cache key; `None` without a cache, or if the response is neither read from the cache nor stored.
    pub key: Option<String>,
    /// `yes` if the request may read the cache, otherwise `no: ` and the reason; `None` without a cache.
    pub read: Option<String>,
    /// Description of whether and how long the response would be stored in the cache; `None` without a cache, or if a
    /// stored page would be used.
    pub store: Option<String>,
    /// All decisions of the routing in order.
    pub lines: Vec<InspectedLine>,
    /// Pages stored for the URL.
    pub stored: Vec<PageReport>,
}

/// Decision in the processing of an inspected request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InspectedLine {
    /// Topic: `server`, `rule`, `location`, `cache`, ...
    pub topic: String,
    /// Evaluated directive, or a description of the decision.
    pub text: String,
    /// Result of the directive; may be empty.
    pub outcome: String,
    /// Position in the configuration, such as `nginx.conf:12`; `None` if the decision is not caused by a directive.
    pub at: Option<String>,
}
