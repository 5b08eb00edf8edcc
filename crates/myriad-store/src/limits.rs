//! Limits of a zone.

/// Limits of a zone. All except the number of shards can be changed at any time ([`crate::Zone::resize`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneLimits {
    /// Maximum number of bytes for stored objects, arriving bodies and key notes together (`memory=`).
    pub memory_bytes: usize,
    /// Time without a hit after which a sweep removes a key (`inactive=`), in milliseconds. The default of nginx is 10
    /// minutes.
    pub inactive_ms: u64,
    /// Maximum length of a stored body, in bytes. A longer body streams through.
    pub max_object_bytes: u64,
    /// Maximum number of variants under one key. A further variant replaces the variant that was hit least recently.
    pub max_variants: usize,
    /// Number of bytes that an oversized body may be ahead of its slowest reader.
    pub stream_window_bytes: usize,
    /// Time during which claims of a key with an oversized body return [`crate::Claim::PassStatus`], in milliseconds.
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
