//! Statistics of a zone.

/// Snapshot of a zone's counters. Counters start at the creation of the zone unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneStats {
    /// Number of stored keys.
    pub keys: usize,
    /// Number of stored objects. A key has one object per variant.
    pub objects: usize,
    /// Bytes accounted: objects with their overhead, arriving bodies, key notes.
    pub bytes: usize,
    /// Bytes of these that are reserved for key notes and unused.
    pub unused_notes: usize,
    /// Effective cap in bytes: the cap of the limits, or less under memory pressure ([`crate::Zone::press`]).
    pub limit_bytes: usize,
    /// Number of look-ups and claims that found an object.
    pub hits: u64,
    /// Number of look-ups (`get`) that found no object.
    pub misses: u64,
    /// Number of objects stored.
    pub stored: u64,
    /// Number of keys evicted because of the cap.
    pub evictions: u64,
    /// Number of keys removed because they were not requested within `inactive_ms`.
    pub expired: u64,
    /// Number of objects that purges removed from memory.
    pub purged: u64,
    /// Number of completed bodies that were not stored because the cap left no room.
    pub rejected: u64,
    /// Number of flights in progress.
    pub flights: usize,
}

/// Result of a call of [`crate::Zone::sweep`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepResult {
    /// Number of keys examined.
    pub examined: usize,
    /// Number of keys removed.
    pub removed: usize,
    /// Set if this call reached the end of the zone. The next call restarts at its beginning.
    pub finished: bool,
}
