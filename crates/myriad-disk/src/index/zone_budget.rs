//! Budget of a zone's memory: a count of bytes that exceeds its limit only after the limit was reduced.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Count of the bytes that a zone uses, with one limit for all its shards.
///
/// Bytes are reserved before they are used, and released after their object has left the zone, so the count is never
/// too low. Memory of a removed object that readers still use is not counted.
#[derive(Debug)]
pub struct ZoneBudget {
    used: AtomicUsize,
    /// Number of bytes for bodies that are being received, which `used` includes once they are reserved.
    arriving: AtomicUsize,
    limit: AtomicUsize,
}

impl ZoneBudget {
    /// Creates a budget of `limit` bytes, of which none are used.
    pub fn new(limit: usize) -> Self {
        Self { used: AtomicUsize::new(0), arriving: AtomicUsize::new(0), limit: AtomicUsize::new(limit) }
    }

    /// Returns the number of bytes of the zone's memory in use.
    pub fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    /// Returns the limit of the zone's memory in bytes.
    pub fn limit(&self) -> usize {
        self.limit.load(Relaxed)
    }

    /// Changes the memory limit to `limit` bytes. If more bytes are in use, the caller must free them.
    pub fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Relaxed);
    }

    /// Reserves bytes of the zone's memory. Returns false, and reserves nothing, if the limit would be exceeded.
    pub fn try_reserve(&self, bytes: usize) -> bool {
        let limit = self.limit();
        let fits = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= limit);
        self.used.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }

    /// Releases reserved bytes.
    pub fn release(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Relaxed);
        debug_assert!(before >= bytes, "released {bytes} bytes of {before}");
    }

    /// Adds `bytes` to the count for bodies that are being received. Returns false, and adds nothing, if these would
    /// exceed half of the limit, so that a burst of misses cannot evict every stored page.
    pub fn try_reserve_arriving(&self, bytes: usize) -> bool {
        let limit = self.limit() / 2;
        let fits = |sum: usize| sum.checked_add(bytes).filter(|&sum| sum <= limit);
        self.arriving.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }

    /// Like [`ZoneBudget::try_reserve_arriving`], for a body too long for memory, which is passed on to disk and
    /// readers. Returns false if arriving bodies would exceed a quarter of the limit, so that space for shorter bodies
    /// remains.
    pub fn try_reserve_streamed(&self, bytes: usize) -> bool {
        let limit = self.limit() / 4;
        let fits = |sum: usize| sum.checked_add(bytes).filter(|&sum| sum <= limit);
        self.arriving.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }

    /// Subtracts bytes from the count for bodies that are being received.
    pub fn finish_arriving(&self, bytes: usize) {
        let before = self.arriving.fetch_sub(bytes, Relaxed);
        debug_assert!(before >= bytes, "{bytes} bytes arrived of {before}");
    }
}
