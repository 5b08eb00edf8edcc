//! Limits of a zone.

/// Limits of a zone; all but the shard count may change while it lives ([`crate::Zone::resize`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneLimits {
    /// Bytes that stored objects, bodies on their way and key notes may take together (`memory=`).
    pub memory_bytes: usize,
    /// Milliseconds without a hit after which a sweep removes a key (`inactive=`); nginx's default is 10 minutes.
    pub inactive_ms: u64,
    /// Bytes of the longest body that is stored; a longer one streams through.
    pub max_object_bytes: u64,
    /// Variants kept under one key; one more replaces the one that was hit least recently.
    pub max_variants: usize,
    /// Bytes that an oversized body may run ahead of its slowest reader.
    pub stream_window_bytes: usize,
    /// Milliseconds for which claims of a key whose body was oversized answer [`crate::Claim::Pass`].
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
