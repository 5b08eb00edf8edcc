//! A tick: what the server has done in a second, and how it stands.

use serde::{Deserialize, Serialize};

use crate::{MemoryTick, PeerReport, RequestCounts};

/// A tick.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tick {
    /// When it was made.
    pub at_ms: u64,
    /// The time that [`Self::delta`] covers.
    pub interval_ms: u64,
    /// When the worker process began.
    pub started_ms: u64,
    /// How often the configuration was replaced.
    pub reloads: u64,
    /// Readers of events over HTTP and the control socket.
    pub readers: usize,
    /// Counts since the worker process began.
    pub total: Counts,
    /// Counts within the interval.
    pub delta: Counts,
    /// Times to the first byte of what was answered within the interval.
    pub first_byte: FirstByte,
    /// Connections now.
    pub connections: Connections,
    /// Memory of the worker process.
    pub memory: MemoryTick,
    /// Servers of groups, at most 200.
    pub origins: Vec<PeerReport>,
    /// Queues before origins (`origin_queue`).
    pub queues: Vec<QueueReport>,
    /// Cache zones.
    pub zones: Vec<ZoneTick>,
    /// Workers.
    pub workers: Vec<WorkerTick>,
}

/// Counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Finished requests.
    pub requests: u64,
    /// Bytes sent to clients.
    pub bytes: u64,
    /// Requests sent to origins.
    pub fetches: u64,
    /// Connections accepted.
    pub accepted: u64,
    /// Answers of 100 to 199.
    pub status_1xx: u64,
    /// Answers of 200 to 299.
    pub status_2xx: u64,
    /// Answers of 300 to 399.
    pub status_3xx: u64,
    /// Answers of 400 to 499.
    pub status_4xx: u64,
    /// Answers of 500 to 599.
    pub status_5xx: u64,
    /// Requests by `$upstream_cache_status`.
    #[serde(flatten)]
    pub cache: RequestCounts,
    /// Requests that have none: files, `return`, places without a cache.
    pub uncached: u64,
}

/// Times to the first byte by what the cache did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FirstByte {
    /// All requests.
    pub all: Option<Percentiles>,
    /// `HIT`, `STALE`, `UPDATING`.
    pub hit: Option<Percentiles>,
    /// `MISS`, `EXPIRED`, `REVALIDATED`, `BYPASS`.
    pub miss: Option<Percentiles>,
    /// Requests without a cache status.
    pub other: Option<Percentiles>,
}

/// How times are distributed, milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Percentiles {
    /// How many.
    pub count: u64,
    /// What half of them did not exceed.
    pub p50: f64,
    /// What 90% did not exceed.
    pub p90: f64,
    /// What 99% did not exceed.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// Connections of clients at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Connections {
    /// Open.
    pub active: u64,
    /// Of whose next request a part has come.
    pub reading: u64,
    /// Requests under way.
    pub writing: u64,
    /// Waiting for a request.
    pub waiting: u64,
}

/// A queue before an origin at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueReport {
    /// Its name.
    pub name: String,
    /// Requests that the origin is asked now.
    pub asking: u32,
    /// Requests that wait for their turn.
    pub waiting: u64,
    /// Most that are asked at once, as it was decided last; none before the first request.
    pub limit: Option<u32>,
}

/// A cache zone at one moment; counts since the worker process began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ZoneTick {
    /// Its name.
    pub zone: String,
    /// What is in memory.
    pub memory: TierSize,
    /// What is on disk; none where the folder was not opened.
    pub disk: Option<TierSize>,
    /// What its requests came to.
    pub requests: RequestCounts,
    /// Fetches under way.
    pub fetching: usize,
    /// Pages stored.
    pub stored: u64,
    /// Pages that purges took out of memory.
    pub purged: u64,
    /// Pages in memory by coding, `identity` among them, as they were counted last.
    pub encodings: Vec<EncodingTotal>,
    /// When that count ended; none before the first.
    pub encodings_at_ms: Option<u64>,
}

/// The size of a tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TierSize {
    /// Pages in memory, files on disk.
    pub pages: usize,
    /// Bytes.
    pub bytes: u64,
    /// The cap; none where there is none.
    pub limit_bytes: Option<u64>,
}

/// All bodies of a zone in one coding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EncodingTotal {
    /// `identity`, `gzip`, `br`, `zstd`.
    pub coding: String,
    /// Pages that have it.
    pub pages: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
}

/// A worker at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerTick {
    /// Its number.
    pub worker: usize,
    /// Requests it has finished.
    pub requests: u64,
    /// Its open connections.
    pub active: u64,
}
