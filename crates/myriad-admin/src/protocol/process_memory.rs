//! Memory of the process: its parts, its limit, and actions on low memory.

use serde::{Deserialize, Serialize};

/// Memory of the worker process at one moment; counts since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessMemoryReport {
    /// Resident memory in bytes, as in `ps` (`RSS`).
    pub resident_bytes: u64,
    /// `memory_limit`, in bytes, if any.
    pub limit_bytes: Option<u64>,
    /// Current action on low memory: `normal` for none, `shrinking`, `closing`, `refusing`.
    pub stage: String,
    /// Number of starts of each stage.
    pub begun: BegunStages,
    /// Pages that zones have evicted; they remain on disk.
    pub evicted_pages: u64,
    /// Idle connections that were closed.
    pub closed_idle: u64,
    /// Connections that were closed because their clients stalled.
    pub closed_stalled: u64,
    /// Requests for origins that were rejected with 503.
    pub refused_requests: u64,
    /// Parts of the memory; the last part is the remainder.
    pub parts: Vec<MemoryPart>,
}

/// Number of starts of each stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BegunStages {
    /// Zones are reduced.
    pub shrinking: u64,
    /// Idle connections are closed.
    pub closing: u64,
    /// Requests for origins are rejected.
    pub refusing: u64,
}

/// Part of the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryPart {
    /// `zone`, `connections`, `buffers`, `bodies`, `files`, `disk_writes`, `tls_sessions`, `other`.
    pub part: String,
    /// Name of the zone; `None` for other parts.
    pub zone: Option<String>,
    /// Size of the part, in bytes.
    pub bytes: u64,
    /// Current limit in bytes; `None` without a separate limit.
    pub limit_bytes: Option<u64>,
    /// Configured limit in bytes; it differs from the current limit if a zone was reduced.
    pub configured_bytes: Option<u64>,
}

/// Memory of the process in a tick.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryTick {
    /// Resident memory, in bytes.
    pub resident_bytes: u64,
    /// `memory_limit`, in bytes, if any.
    pub limit_bytes: Option<u64>,
    /// Current action on low memory, as in [`ProcessMemoryReport::stage`].
    pub stage: String,
}
