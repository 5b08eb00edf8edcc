//! Counter that a single thread changes and any thread may read.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counter of a worker. Only that worker's thread changes it; any thread may read it.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `count` to the counter, which wraps around at 2⁶⁴. There is only one writing thread, so a load and a store
    /// suffice, without an atomic read-modify-write instruction.
    pub fn add(&self, count: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(count), Relaxed);
    }

    /// Subtracts `count` from the counter, which does not fall below 0. Like [`Self::add`], may be called only on the
    /// writing thread.
    pub fn subtract(&self, count: u64) {
        self.0.store(self.0.load(Relaxed).saturating_sub(count), Relaxed);
    }

    /// Sets the count to a measured value, for a gauge.
    pub fn set(&self, count: u64) {
        self.0.store(count, Relaxed);
    }

    /// Returns the count.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
