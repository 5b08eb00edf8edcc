//! Live event that is sent every second: activity of the server since the last one, and its state.

use serde::{Deserialize, Serialize};

use crate::protocol::{MemoryTick, PeerReport, RequestCounts};

/// Live event that is sent every second, with the counts since the previous one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveTick {
    /// Time of the event, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Duration since the previous event, which [`Self::delta`] covers, in milliseconds.
    pub interval_ms: u64,
    /// Start time of the worker process, in milliseconds since the epoch.
    pub started_ms: u64,
    /// Number of reloads since the start of the worker process.
    pub reloads: u64,
    /// Number of clients that read live events.
    pub readers: usize,
    /// Counts since the start of the worker process.
    pub total: TickCounts,
    /// Counts since the previous event.
    pub delta: TickCounts,
    /// Times to the first byte of the responses since the previous event.
    pub first_byte: FirstByteTimes,
    /// Current connections.
    pub connections: ConnectionCounts,
    /// Memory of the worker process.
    pub memory: MemoryTick,
    /// Servers of upstream groups, at most 200.
    pub origins: Vec<PeerReport>,
    /// Queues of requests that wait for origins (`origin_queue`).
    pub queues: Vec<QueueReport>,
    /// Cache zones.
    pub zones: Vec<ZoneTick>,
    /// Worker threads.
    pub workers: Vec<WorkerTick>,
}

/// Counters of requests and connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TickCounts {
    /// Number of finished requests.
    pub requests: u64,
    /// Number of bytes sent to clients.
    pub bytes: u64,
    /// Number of requests sent to origins.
    pub fetches: u64,
    /// Number of accepted connections.
    pub accepted: u64,
    /// Number of responses with a status from 100 to 199.
    pub status_1xx: u64,
    /// Number of responses with a status from 200 to 299.
    pub status_2xx: u64,
    /// Number of responses with a status from 300 to 399.
    pub status_3xx: u64,
    /// Number of responses with a status from 400 to 499.
    pub status_4xx: u64,
    /// Number of responses with a status from 500 to 599.
    pub status_5xx: u64,
    /// Number of requests by `$upstream_cache_status`.
    #[serde(flatten)]
    pub cache: RequestCounts,
    /// Number of requests without a cache status: files, `return`, locations without a cache.
    pub uncached: u64,
}

/// Times to the first byte, by cache status; each is `None` if there were no such requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FirstByteTimes {
    /// Times of all requests; `None` without requests.
    pub all: Option<Percentiles>,
    /// Times of requests with the cache status `HIT`, `STALE` or `UPDATING`; `None` without such requests.
    pub hit: Option<Percentiles>,
    /// Times of requests with the cache status `MISS`, `EXPIRED`, `REVALIDATED` or `BYPASS`; `None` without such
    /// requests.
    pub miss: Option<Percentiles>,
    /// Times of requests without a cache status; `None` without such requests.
    pub other: Option<Percentiles>,
}

/// Percentiles of times, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Percentiles {
    /// Number of measured times.
    pub count: u64,
    /// Median, in milliseconds.
    pub p50: f64,
    /// 90th percentile, in milliseconds.
    pub p90: f64,
    /// 99th percentile, in milliseconds.
    pub p99: f64,
    /// Maximum, in milliseconds.
    pub max: f64,
}

/// Client connections at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectionCounts {
    /// Number of open client connections.
    pub active: u64,
    /// Number of connections on which a part of a request head has arrived, but not all of it.
    pub reading: u64,
    /// Number of requests in progress.
    pub writing: u64,
    /// Number of idle connections, which wait for a request.
    pub waiting: u64,
}

/// Queue of requests that wait for an origin (`origin_queue`) at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueReport {
    /// Name of the queue.
    pub name: String,
    /// Number of requests in progress at the origin.
    pub asking: u32,
    /// Number of requests that wait in the queue.
    pub waiting: u64,
    /// Current maximum number of concurrent requests to the origin, for the location whose request arrived last; `None`
    /// before the first request.
    pub limit: Option<u32>,
}

/// Cache zone at one moment. Counts are since the start of the worker process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ZoneTick {
    /// Name of the zone.
    pub zone: String,
    /// Memory tier.
    pub memory: TierSize,
    /// Disk tier; `None` if it is not open.
    pub disk: Option<TierSize>,
    /// Number of requests by cache status.
    pub requests: RequestCounts,
    /// Number of fetches from origins and reads from disk in progress.
    pub fetching: usize,
    /// Number of pages stored in memory since the start of the worker process, including those read from disk.
    pub stored: u64,
    /// Number of pages that purges removed from memory.
    pub purged: u64,
    /// Stored bodies in memory by content coding, according to the last complete count.
    pub encodings: Vec<EncodingTotal>,
    /// Time of the last complete count of bodies, in milliseconds since the epoch; `None` before the first.
    pub encodings_at_ms: Option<u64>,
}

/// Size of the memory or disk tier of a cache zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TierSize {
    /// Number of pages in the memory tier, or of files in the disk tier.
    pub pages: usize,
    /// Current size of the tier, in bytes.
    pub bytes: u64,
    /// Maximum size of the tier, in bytes; `None` for no limit.
    pub limit_bytes: Option<u64>,
}

/// Stored bodies of a zone in one coding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EncodingTotal {
    /// Content coding of the bodies: `identity`, `gzip`, `br`, `zstd`.
    pub coding: String,
    /// Number of bodies with this coding.
    pub pages: u64,
    /// Total size of the bodies with this coding, in bytes.
    pub bytes: u64,
}

/// Worker thread at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerTick {
    /// Number of the worker thread, from 0.
    pub worker: usize,
    /// Number of requests that the worker thread has finished since its start.
    pub requests: u64,
    /// Number of open client connections of the worker thread.
    pub active: u64,
}
