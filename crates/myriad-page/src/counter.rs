//! Counters of one worker.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A count. Only the thread of its worker changes it; any thread may read it.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to the count. Only one thread writes, so a load and a store do, without a locked instruction.
    pub fn add(&self, count: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(count), Relaxed);
    }

    /// Subtracts from the count what was added before.
    pub fn subtract(&self, count: u64) {
        self.0.store(self.0.load(Relaxed).saturating_sub(count), Relaxed);
    }

    /// The count is so large now: for what is measured, and not added up.
    pub fn set(&self, count: u64) {
        self.0.store(count, Relaxed);
    }

    /// The count.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
