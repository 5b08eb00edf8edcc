//! Cap of a zone: a count of bytes that never exceeds its limit.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes in use by a whole zone, against one limit for all its shards.
///
/// Bytes are reserved before they are used and released after they are dropped from the zone, so the count is never too
/// low. It excludes memory that readers still use of an object that has left the zone.
#[derive(Debug)]
pub struct ZoneBudget {
    used: AtomicUsize,
    /// Part of `used` for arriving bodies.
    arriving: AtomicUsize,
    limit: AtomicUsize,
}

impl ZoneBudget {
    /// Creates a ledger with a limit of `limit` bytes and no bytes in use.
    pub fn new(limit: usize) -> Self {
        Self { used: AtomicUsize::new(0), arriving: AtomicUsize::new(0), limit: AtomicUsize::new(limit) }
    }

    /// Returns the number of bytes in use.
    pub fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    /// Returns the limit in bytes.
    pub fn limit(&self) -> usize {
        self.limit.load(Relaxed)
    }

    /// Changes the limit. If more is in use, the caller has to free it.
    pub fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Relaxed);
    }

    /// Reserves `bytes`. Returns false if the limit would be exceeded.
    pub fn try_reserve(&self, bytes: usize) -> bool {
        let limit = self.limit();
        let fits = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= limit);
        self.used.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }

    /// Releases bytes that are no longer in use.
    pub fn release(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Relaxed);
        debug_assert!(before >= bytes, "released {bytes} bytes of {before}");
    }

    /// Counts `bytes` of an arriving body. Returns false if arriving bodies would use more than half of the cap, so
    /// that a burst of misses cannot evict every stored page.
    pub fn try_reserve_arriving(&self, bytes: usize) -> bool {
        let limit = self.limit() / 2;
        let fits = |sum: usize| sum.checked_add(bytes).filter(|&sum| sum <= limit);
        self.arriving.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }

    /// Like [`ZoneBudget::try_reserve_arriving`], for a body too long for memory that is passed on to disk and readers. Returns false
    /// if arriving bodies would use more than a quarter of the cap, so that shorter bodies have room.
    pub fn try_reserve_streamed(&self, bytes: usize) -> bool {
        let limit = self.limit() / 4;
        let fits = |sum: usize| sum.checked_add(bytes).filter(|&sum| sum <= limit);
        self.arriving.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }

    /// Subtracts bytes from the count of arriving bytes. They remain in use.
    pub fn finish_arriving(&self, bytes: usize) {
        let before = self.arriving.fetch_sub(bytes, Relaxed);
        debug_assert!(before >= bytes, "{bytes} bytes arrived of {before}");
    }
}
