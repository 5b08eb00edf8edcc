//! Limits of a cache zone.

/// Limits of a zone. They can be changed at any time ([`crate::Zone::resize`]); the number of shards remains that for
/// the initial memory limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneLimits {
    /// Maximum number of bytes for stored objects, bodies being received and notes about keys together (`memory=`).
    pub memory_bytes: usize,
    /// Time without a hit after which a key is removed (`inactive=`), in milliseconds. nginx's default is 10 minutes.
    pub inactive_ms: u64,
    /// Maximum length of a body that is stored in memory, in bytes. A longer body is passed on to readers and disk as
    /// it arrives.
    pub max_object_bytes: u64,
    /// Maximum number of variants per key. A further variant replaces the least recently used one.
    pub max_variants: usize,
    /// Number of bytes by which the origin may be ahead of the slowest reader of a body too long for memory.
    pub stream_window_bytes: usize,
    /// Time in milliseconds after a fetch of a body that was too long to be stored, during which requests for the key
    /// fetch without waiting for each other ([`crate::Claim::Pass`]).
    pub oversized_pass_ms: u64,
}

impl Default for ZoneLimits {
    fn default() -> Self {
        Self {
            memory_bytes: 64 << 20,
            inactive_ms: 600_000,
            max_object_bytes: 8 << 20,
            max_variants: 16,
            stream_window_bytes: 256 << 10,
            oversized_pass_ms: 10_000,
        }
    }
}
