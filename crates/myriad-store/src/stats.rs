//! Figures of a zone.

/// A snapshot of a zone's counters; counts since the zone was made unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneStats {
    /// Keys stored now.
    pub keys: usize,
    /// Objects stored now; a key has one per variant.
    pub objects: usize,
    /// Bytes accounted now: objects with their overhead, bodies on their way, key notes.
    pub bytes: usize,
    /// Bytes among them that are reserved for key notes, and not used yet.
    pub unused_notes: usize,
    /// The cap that holds now, in bytes: that of the limits, or less for want of memory ([`crate::Zone::press`]).
    pub limit_bytes: usize,
    /// Look-ups and claims that found an object.
    pub hits: u64,
    /// Look-ups (`get`) that found none.
    pub misses: u64,
    /// Objects stored.
    pub stored: u64,
    /// Keys evicted to hold the cap.
    pub evictions: u64,
    /// Keys removed because nobody asked for them within `inactive_ms`.
    pub expired: u64,
    /// Objects that purges removed from memory.
    pub purged: u64,
    /// Completed bodies that were not stored for want of room.
    pub rejected: u64,
    /// Flights on their way now.
    pub flights: usize,
}

/// The result of one call of [`crate::Zone::sweep`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Keys looked at.
    pub examined: usize,
    /// Keys removed.
    pub removed: usize,
    /// Whether this call came to the end of the zone; the next one starts anew.
    pub finished: bool,
}
