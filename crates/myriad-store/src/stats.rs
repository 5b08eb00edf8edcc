//! Statistics of a cache zone.

/// Statistics of a zone at one moment. Counters start at the creation of the zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneStats {
    /// Number of keys with objects in memory.
    pub keys: usize,
    /// Number of objects in memory; each variant of a key is an object.
    pub objects: usize,
    /// Number of bytes of memory in use: objects with their overhead, bodies being received, and space reserved for
    /// notes about keys.
    pub bytes: usize,
    /// Number of bytes among `bytes` that are reserved for notes about keys and unused.
    pub unused_notes: usize,
    /// Current memory limit in bytes: the configured limit, or less under memory pressure
    /// ([`crate::Zone::set_pressure_limit`]).
    pub limit_bytes: usize,
    /// Number of look-ups that found an object, and of claims that found a usable one.
    pub hits: u64,
    /// Number of look-ups by `get` that found no object.
    pub misses: u64,
    /// Number of objects that were stored in memory, including those read from disk.
    pub stored: u64,
    /// Number of keys evicted because of the memory limit.
    pub evictions: u64,
    /// Number of keys removed because they had no hit within `inactive_ms`.
    pub expired: u64,
    /// Number of objects that purges and removals (by key, or of all objects) removed from memory.
    pub purged: u64,
    /// Number of complete objects that were not stored because the memory limit had no space.
    pub rejected: u64,
    /// Number of fetches and reads from disk in progress now.
    pub flights: usize,
}

/// Result of one call of [`crate::Zone::sweep`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepResult {
    /// Number of keys examined.
    pub examined: usize,
    /// Number of keys removed.
    pub removed: usize,
    /// Set if this call reached the end of the zone. The next call starts again at its beginning.
    pub finished: bool,
}
