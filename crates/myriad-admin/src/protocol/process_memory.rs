//! Memory of the process: its parts, its limit, and actions on low memory.

use serde::{Deserialize, Serialize};

/// Memory of the worker process at one moment. Counts are since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessMemoryReport {
    /// Resident memory in bytes, as in `ps` (`RSS`).
    pub resident_bytes: u64,
    /// Effective `memory_limit`, in bytes; `None` without a limit.
    pub limit_bytes: Option<u64>,
    /// Current stage of memory pressure: `normal`, `shrinking`, `closing` or `refusing`.
    pub stage: String,
    /// Number of times that each stage was entered.
    pub begun: BegunStages,
    /// Number of pages that zones evicted from memory because of memory pressure; those with a file remain on disk.
    pub evicted_pages: u64,
    /// Number of idle connections that were closed because of memory pressure.
    pub closed_idle: u64,
    /// Number of connections that were closed under memory pressure because their clients stalled.
    pub closed_stalled: u64,
    /// Number of requests for origins that were rejected with 503 because of memory pressure.
    pub refused_requests: u64,
    /// Parts of the memory; the last one is the remainder of the resident memory.
    pub parts: Vec<MemoryPart>,
}

/// Number of times that each stage of memory pressure was entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BegunStages {
    /// Number of times that the stage was entered in which cache zones are reduced.
    pub shrinking: u64,
    /// Number of times that the stage was entered in which idle connections are closed.
    pub closing: u64,
    /// Number of times that the stage was entered in which requests for origins are rejected.
    pub refusing: u64,
}

/// Part of the memory of the process, such as a cache zone or the client connections, with its size and limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryPart {
    /// Kind of the part: `zone`, `connections`, `buffers`, `bodies`, `files`, `disk_writes`, `tls_sessions`, `other`.
    pub part: String,
    /// Name of the zone if the kind is `zone`, otherwise `None`.
    pub zone: Option<String>,
    /// Size of the part, in bytes.
    pub bytes: u64,
    /// Current limit in bytes; `None` if the part has no separate limit.
    pub limit_bytes: Option<u64>,
    /// Configured limit in bytes; higher than the current limit if the zone has been reduced. `None` if the part has
    /// no separate limit.
    pub configured_bytes: Option<u64>,
}

/// Memory of the process, in a live event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryTick {
    /// Resident memory, in bytes.
    pub resident_bytes: u64,
    /// Effective `memory_limit`, in bytes; `None` without a limit.
    pub limit_bytes: Option<u64>,
    /// Current stage of memory pressure, as in [`ProcessMemoryReport::stage`].
    pub stage: String,
}
