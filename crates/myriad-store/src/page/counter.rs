//! Counters of a worker.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counter. Only the thread of its worker changes it; any thread may read it.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to the count. Only one thread writes, so a load and a store are sufficient, without a locked instruction.
    pub fn add(&self, count: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(count), Relaxed);
    }

    /// Subtracts from the count.
    pub fn subtract(&self, count: u64) {
        self.0.store(self.0.load(Relaxed).saturating_sub(count), Relaxed);
    }

    /// Sets the count to a measured value.
    pub fn set(&self, count: u64) {
        self.0.store(count, Relaxed);
    }

    /// Returns the count.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
