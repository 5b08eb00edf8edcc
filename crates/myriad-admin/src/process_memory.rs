//! The memory of the process: what holds it, its limit, what was done for want of it.

use serde::{Deserialize, Serialize};

/// The memory of the worker process at one moment; counts since it began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessMemoryReport {
    /// Bytes in memory, as `ps` shows them (`RSS`).
    pub resident_bytes: u64,
    /// `memory_limit`, bytes; none where there is none.
    pub limit_bytes: Option<u64>,
    /// What is done for want of memory now: `normal` for nothing, `shrinking`, `closing`, `refusing`.
    pub stage: String,
    /// How often each stage was begun.
    pub begun: BegunStages,
    /// Pages that zones have given up; those on disk are there still.
    pub evicted_pages: u64,
    /// Connections that were closed on which nothing was under way.
    pub closed_idle: u64,
    /// Connections that were closed whose clients stalled.
    pub closed_stalled: u64,
    /// Requests for origins that got 503.
    pub refused_requests: u64,
    /// What holds the memory; the last part is what none of the others accounts for.
    pub parts: Vec<MemoryPart>,
}

/// How often each stage was begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BegunStages {
    /// Zones shrink.
    pub shrinking: u64,
    /// Idle connections are closed.
    pub closing: u64,
    /// Requests for origins are refused.
    pub refusing: u64,
}

/// A part of the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryPart {
    /// `zone`, `connections`, `buffers`, `bodies`, `files`, `disk_writes`, `tls_sessions`, `other`.
    pub part: String,
    /// Which zone; none for other parts.
    pub zone: Option<String>,
    /// Bytes that it holds.
    pub bytes: u64,
    /// Bytes that it may hold now; none where it has no bound of its own.
    pub limit_bytes: Option<u64>,
    /// Bytes that the configuration lets it hold; the two differ where a zone has given way.
    pub configured_bytes: Option<u64>,
}

/// The memory of the process in a tick.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryTick {
    /// Bytes in memory.
    pub resident_bytes: u64,
    /// `memory_limit`, bytes; none where there is none.
    pub limit_bytes: Option<u64>,
    /// What is done for want of memory, as in [`ProcessMemoryReport::stage`].
    pub stage: String,
}
