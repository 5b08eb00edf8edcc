//! Counts of one worker.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One count. Only the thread of its worker changes it; any thread may read it.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to the count. One thread writes, so this is a load and a store, and no locked instruction.
    pub fn add(&self, count: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(count), Relaxed);
    }

    /// Takes from the count what was added before.
    pub fn subtract(&self, count: u64) {
        self.0.store(self.0.load(Relaxed).saturating_sub(count), Relaxed);
    }

    /// The count.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
