//! Figures of the whole process.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts since the process started. Each is measured where it happens.
#[derive(Debug, Default)]
pub struct Counters {
    /// Exchanges finished.
    pub requests: AtomicU64,
    /// Cached pages served without the origin.
    pub hits: AtomicU64,
    /// Pages fetched because none was stored.
    pub misses: AtomicU64,
    /// Requests sent to an origin.
    pub fetches: AtomicU64,
    /// Bytes sent.
    pub bytes: AtomicU64,
}

impl Counters {
    /// Adds one.
    pub fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Relaxed);
    }
}
