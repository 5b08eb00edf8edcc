//! Bytes and sessions held by the connections of a worker, and the memory stage of the process.
//!
//! The figures are thread-local and change when a buffer or a session is created or dropped. A request served from a
//! pooled buffer changes none of them.

use std::cell::Cell;

use myriad_base::memory::PressureStage;

thread_local! {
    /// Memory stage of the process.
    pub(crate) static STAGE: Cell<PressureStage> = const { Cell::new(PressureStage::Normal) };
    /// Bytes of request buffers.
    pub(crate) static BUFFERS: Cell<usize> = const { Cell::new(0) };
    /// Bytes of bodies buffered for their readers.
    pub(crate) static BODIES: Cell<usize> = const { Cell::new(0) };
    /// Bytes of responses of multiplexed connections that wait for the flow-control windows of their clients.
    pub(crate) static ANSWERS: Cell<usize> = const { Cell::new(0) };
    /// Number of TLS sessions.
    pub(crate) static SESSIONS: Cell<usize> = const { Cell::new(0) };
}

/// Returns whether connections must reduce their memory to the minimum.
pub(crate) fn is_short() -> bool {
    STAGE.get() >= PressureStage::Closing
}

/// Returns whether a new connection above the minimum number requires an eviction.
pub(crate) fn is_exhausted() -> bool {
    STAGE.get() >= PressureStage::Refusing
}

/// Part of one of the sums, subtracted when dropped.
#[derive(Debug)]
pub(crate) struct CountedBytes {
    sum: &'static std::thread::LocalKey<Cell<usize>>,
    part: usize,
}

impl CountedBytes {
    /// Adds a part to a sum.
    pub(crate) fn new(sum: &'static std::thread::LocalKey<Cell<usize>>, part: usize) -> Self {
        let mut counted = Self { sum, part: 0 };
        counted.set(part);
        counted
    }

    pub(crate) fn part(&self) -> usize {
        self.part
    }

    /// Sets the part to `part` and adjusts the sum.
    pub(crate) fn set(&mut self, part: usize) {
        let before = std::mem::replace(&mut self.part, part);
        if part != before {
            // At thread exit the thread-local sum may be destroyed before the counted values.
            let _ = self.sum.try_with(|sum| sum.set((sum.get() + part).saturating_sub(before)));
        }
    }
}

impl Drop for CountedBytes {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_is_that_of_the_parts_there_are() {
        let mut first = CountedBytes::new(&BODIES, 5);
        let second = CountedBytes::new(&BODIES, 7);
        assert_eq!(BODIES.get(), 12);
        first.set(1);
        assert_eq!(BODIES.get(), 8);
        drop(second);
        assert_eq!(BODIES.get(), 1);
        drop(first);
        assert_eq!(BODIES.get(), 0);
    }
}
