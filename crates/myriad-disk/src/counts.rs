//! Counters of file events in a zone since it was opened.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::options::DiskStats;

/// Event counters of a disk tier. The fields of the same names in [`DiskStats`] describe them.
#[derive(Debug, Default)]
pub(crate) struct DiskCounters {
    pub(crate) reads: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) evictions: AtomicU64,
    pub(crate) expired: AtomicU64,
    pub(crate) vanished: AtomicU64,
    pub(crate) quarantined: AtomicU64,
    pub(crate) unreadable: AtomicU64,
}

impl DiskCounters {
    /// Returns the counters as statistics. Fields for the current state (`files`, `bytes`, `recovered`) are not set.
    pub(crate) fn stats(&self) -> DiskStats {
        let count = |counter: &AtomicU64| counter.load(Relaxed);
        DiskStats {
            reads: count(&self.reads),
            writes: count(&self.writes),
            dropped: count(&self.dropped),
            evictions: count(&self.evictions),
            expired: count(&self.expired),
            vanished: count(&self.vanished),
            quarantined: count(&self.quarantined),
            unreadable: count(&self.unreadable),
            ..DiskStats::default()
        }
    }
}
