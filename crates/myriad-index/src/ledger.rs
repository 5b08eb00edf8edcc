//! The zone's cap: one count of bytes that never passes its limit.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes in use by a whole zone, against one limit for all its shards.
///
/// Bytes are reserved before they are used and released after they are dropped from the zone, so the count errs on the
/// safe side. What readers still hold of an object that has left the zone is theirs, not the zone's.
#[derive(Debug)]
pub struct Ledger {
    used: AtomicUsize,
    /// The part of `used` that bodies on their way hold.
    arriving: AtomicUsize,
    limit: AtomicUsize,
}

impl Ledger {
    /// Nothing is in use yet, of `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { used: AtomicUsize::new(0), arriving: AtomicUsize::new(0), limit: AtomicUsize::new(limit) }
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    /// Bytes that may be in use.
    pub fn limit(&self) -> usize {
        self.limit.load(Relaxed)
    }

    /// Changes the limit. Where more is in use, the caller makes room.
    pub fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Relaxed);
    }

    /// Takes `bytes` from the room that is left; false where there is too little.
    pub fn try_reserve(&self, bytes: usize) -> bool {
        let limit = self.limit();
        let fits = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= limit);
        self.used.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }

    /// Gives back bytes that are not in use any more.
    pub fn release(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Relaxed);
        debug_assert!(before >= bytes, "released {bytes} bytes of {before}");
    }

    /// Counts `bytes` of an arriving body; false where arriving bodies would hold more than half of the cap, so that
    /// a flood of misses cannot drive out every stored page.
    pub fn try_arrive(&self, bytes: usize) -> bool {
        let limit = self.limit() / 2;
        let fits = |sum: usize| sum.checked_add(bytes).filter(|&sum| sum <= limit);
        self.arriving.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }

    /// As [`Ledger::try_arrive`], for a body that is too long to be held and goes on to disk and readers: false where arriving
    /// bodies would hold more than a quarter of the cap, so that those that can be held have room.
    pub fn try_pass(&self, bytes: usize) -> bool {
        let limit = self.limit() / 4;
        let fits = |sum: usize| sum.checked_add(bytes).filter(|&sum| sum <= limit);
        self.arriving.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }

    /// Counts bytes as no longer on their way. They stay in use.
    pub fn arrived(&self, bytes: usize) {
        let before = self.arriving.fetch_sub(bytes, Relaxed);
        debug_assert!(before >= bytes, "{bytes} bytes arrived of {before}");
    }
}
