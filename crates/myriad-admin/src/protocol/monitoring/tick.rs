//! Live event that is sent every second: activity of the server since the last one, and its state.

use serde::{Deserialize, Serialize};

use crate::protocol::{MemoryTick, PeerReport, RequestCounts};

/// Live event that is sent every second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveTick {
    /// Time of the tick.
    pub at_ms: u64,
    /// Duration since the previous tick, which [`Self::delta`] covers, in milliseconds.
    pub interval_ms: u64,
    /// Start time of the worker process.
    pub started_ms: u64,
    /// Number of reloads since the start.
    pub reloads: u64,
    /// Number of clients that read live events.
    pub readers: usize,
    /// Counts since the start of the worker process.
    pub total: TickCounts,
    /// Counts since the previous tick.
    pub delta: TickCounts,
    /// Times to the first byte of the responses since the previous tick.
    pub first_byte: FirstByteTimes,
    /// Current connections.
    pub connections: ConnectionCounts,
    /// Memory of the worker process.
    pub memory: MemoryTick,
    /// Servers of upstream groups, at most 200.
    pub origins: Vec<PeerReport>,
    /// Queues of upstream groups (`origin_queue`).
    pub queues: Vec<QueueReport>,
    /// Cache zones.
    pub zones: Vec<ZoneTick>,
    /// Workers.
    pub workers: Vec<WorkerTick>,
}

/// Counters of requests and connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TickCounts {
    /// Finished requests.
    pub requests: u64,
    /// Bytes sent to clients.
    pub bytes: u64,
    /// Requests sent to origins.
    pub fetches: u64,
    /// Connections accepted.
    pub accepted: u64,
    /// Responses of 100 to 199.
    pub status_1xx: u64,
    /// Responses of 200 to 299.
    pub status_2xx: u64,
    /// Responses of 300 to 399.
    pub status_3xx: u64,
    /// Responses of 400 to 499.
    pub status_4xx: u64,
    /// Responses of 500 to 599.
    pub status_5xx: u64,
    /// Requests by `$upstream_cache_status`.
    #[serde(flatten)]
    pub cache: RequestCounts,
    /// Requests without a cache status: files, `return`, locations without a cache.
    pub uncached: u64,
}

/// Times to the first byte, by cache status; each is `None` if there were no such requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FirstByteTimes {
    /// All requests.
    pub all: Option<Percentiles>,
    /// `HIT`, `STALE`, `UPDATING`.
    pub hit: Option<Percentiles>,
    /// `MISS`, `EXPIRED`, `REVALIDATED`, `BYPASS`.
    pub miss: Option<Percentiles>,
    /// Requests without a cache status.
    pub other: Option<Percentiles>,
}

/// Percentiles of times, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Percentiles {
    /// Number of measured times.
    pub count: u64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

/// Client connections at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectionCounts {
    /// Open connections.
    pub active: u64,
    /// Connections with a partially received request.
    pub reading: u64,
    /// Requests in progress.
    pub writing: u64,
    /// Idle connections.
    pub waiting: u64,
}

/// Queue for an origin at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueReport {
    /// Name of the queue.
    pub name: String,
    /// Requests in progress at the origin.
    pub asking: u32,
    /// Requests in the queue.
    pub waiting: u64,
    /// Maximum number of concurrent requests that the queue currently permits; `None` before the first request.
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
    /// Requests by cache status.
    pub requests: RequestCounts,
    /// Number of fetches in progress.
    pub fetching: usize,
    /// Number of pages stored.
    pub stored: u64,
    /// Number of pages that purges removed from memory.
    pub purged: u64,
    /// Bodies in memory by coding, according to the last complete count.
    pub encodings: Vec<EncodingTotal>,
    /// Time of the last complete count; `None` before the first.
    pub encodings_at_ms: Option<u64>,
}

/// Size of the memory or disk tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TierSize {
    /// Pages in memory, or files on disk.
    pub pages: usize,
    /// Size in bytes.
    pub bytes: u64,
    /// Maximum size in bytes; `None` for no limit.
    pub limit_bytes: Option<u64>,
}

/// Stored bodies of a zone in one coding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EncodingTotal {
    /// `identity`, `gzip`, `br`, `zstd`.
    pub coding: String,
    /// Number of pages with this coding.
    pub pages: u64,
    /// Total size of these bodies, in bytes.
    pub bytes: u64,
}

/// Worker thread at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerTick {
    /// Number of the worker, from 0.
    pub worker: usize,
    /// Requests finished since the start.
    pub requests: u64,
    /// Open connections of the worker.
    pub active: u64,
}
