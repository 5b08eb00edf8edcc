//! Tick: activity of the server in a second, and its state.

use serde::{Deserialize, Serialize};

use crate::protocol::{MemoryTick, PeerReport, RequestCounts};

/// Tick of a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveTick {
    /// Time of the tick.
    pub at_ms: u64,
    /// Duration covered by [`Self::delta`].
    pub interval_ms: u64,
    /// Start time of the worker process.
    pub started_ms: u64,
    /// Number of reloads of the configuration.
    pub reloads: u64,
    /// Number of readers of events over HTTP and the control socket.
    pub readers: usize,
    /// Counts since the start of the worker process.
    pub total: TickCounts,
    /// Counts within the interval.
    pub delta: TickCounts,
    /// Times to the first byte of the responses within the interval.
    pub first_byte: FirstByteTimes,
    /// Current connections.
    pub connections: ConnectionCounts,
    /// Memory of the worker process.
    pub memory: MemoryTick,
    /// Servers of groups, at most 200.
    pub origins: Vec<PeerReport>,
    /// Queues of origins (`origin_queue`).
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
    /// Requests without a cache status: files, `return`, places without a cache.
    pub uncached: u64,
}

/// Times to the first byte by cache handling.
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

/// Distribution of times, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Percentiles {
    /// Count.
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

/// Queue of an origin at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueReport {
    /// Name.
    pub name: String,
    /// Requests in progress at the origin.
    pub asking: u32,
    /// Requests in the queue.
    pub waiting: u64,
    /// Maximum number of concurrent requests according to the last decision; `None` before the first request.
    pub limit: Option<u32>,
}

/// Cache zone at one moment; counts since the start of the worker process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ZoneTick {
    /// Name.
    pub zone: String,
    /// Memory tier.
    pub memory: TierSize,
    /// Disk tier; `None` if the folder was not opened.
    pub disk: Option<TierSize>,
    /// Requests by cache status.
    pub requests: RequestCounts,
    /// Fetches in progress.
    pub fetching: usize,
    /// Pages stored.
    pub stored: u64,
    /// Pages removed from memory by purges.
    pub purged: u64,
    /// Pages in memory by coding, including `identity`, at the last count.
    pub encodings: Vec<EncodingTotal>,
    /// Time of the last complete count; `None` before the first.
    pub encodings_at_ms: Option<u64>,
}

/// Size of a tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TierSize {
    /// Pages in memory, or files on disk.
    pub pages: usize,
    /// Size in bytes.
    pub bytes: u64,
    /// Maximum size, if any.
    pub limit_bytes: Option<u64>,
}

/// All bodies of a zone in one coding.
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

/// Worker at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerTick {
    /// Index of the worker.
    pub worker: usize,
    /// Finished requests.
    pub requests: u64,
    /// Open connections of the worker.
    pub active: u64,
}
