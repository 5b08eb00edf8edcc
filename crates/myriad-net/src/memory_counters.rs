//! Thread-local counters of the memory used by a worker's connections, and the memory pressure stage.
//!
//! The counters of buffers and sessions change when one is created, grows or is dropped, not for a request served from
//! pooled buffers.

use std::cell::Cell;

use myriad_base::memory::PressureStage;

thread_local! {
    /// Current memory pressure stage.
    pub(crate) static STAGE: Cell<PressureStage> = const { Cell::new(PressureStage::Normal) };
    /// Bytes of the request buffers of this worker, in use and pooled.
    pub(crate) static BUFFERS: Cell<usize> = const { Cell::new(0) };
    /// Bytes of request and upstream response bodies of this worker that are buffered for their readers.
    pub(crate) static BODIES: Cell<usize> = const { Cell::new(0) };
    /// Bytes of response bodies of this worker that wait for flow-control windows of HTTP/2 connections.
    pub(crate) static ANSWERS: Cell<usize> = const { Cell::new(0) };
    /// Number of TLS sessions of this worker's TCP and unix connections.
    pub(crate) static SESSIONS: Cell<usize> = const { Cell::new(0) };
}

/// Returns true from [`PressureStage::Closing`] on: connections then buffer as little as possible.
pub(crate) fn is_short() -> bool {
    STAGE.get() >= PressureStage::Closing
}

/// Returns true from [`PressureStage::Refusing`] on: above a minimum number, a new connection requires an eviction.
pub(crate) fn is_exhausted() -> bool {
    STAGE.get() >= PressureStage::Refusing
}

/// Share of one user (such as a connection) in one of this thread's byte counters. Subtracted when dropped.
#[derive(Debug)]
pub(crate) struct CountedBytes {
    sum: &'static std::thread::LocalKey<Cell<usize>>,
    /// Share of this user in `sum`.
    part: usize,
}

impl CountedBytes {
    /// Adds `part` bytes to the counter `sum`.
    pub(crate) fn new(sum: &'static std::thread::LocalKey<Cell<usize>>, part: usize) -> Self {
        let mut counted = Self { sum, part: 0 };
        counted.set(part);
        counted
    }

    pub(crate) fn part(&self) -> usize {
        self.part
    }

    /// Changes the share to `part` and adjusts the counter.
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
