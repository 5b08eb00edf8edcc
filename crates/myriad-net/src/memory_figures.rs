//! Bytes and sessions that the connections of a worker hold, and how much the process lacks memory.
//!
//! Each is a figure of a thread, changed where a buffer or a session is made or dropped: a request that is served from a pooled buffer
//! changes none.

use std::cell::Cell;

use myriad_memory::Stage;

thread_local! {
    /// How much the process lacks memory.
    pub(crate) static STAGE: Cell<Stage> = const { Cell::new(Stage::Normal) };
    /// Bytes of the buffers that requests are read into.
    pub(crate) static BUFFERS: Cell<usize> = const { Cell::new(0) };
    /// Bytes of bodies that came ahead of their readers.
    pub(crate) static BODIES: Cell<usize> = const { Cell::new(0) };
    /// Bytes of answers of connections that requests share, for which their clients have yet to open a window.
    pub(crate) static ANSWERS: Cell<usize> = const { Cell::new(0) };
    /// Sessions of TLS.
    pub(crate) static SESSIONS: Cell<usize> = const { Cell::new(0) };
}

/// Whether connections are to hold no more than they must.
pub(crate) fn is_short() -> bool {
    STAGE.get() >= Stage::Closing
}

/// Whether a newcomer beyond the first some is let in only where somebody gives way.
pub(crate) fn is_spent() -> bool {
    STAGE.get() >= Stage::Refusing
}

/// A part of one of the sums, taken off when it is dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    sum: &'static std::thread::LocalKey<Cell<usize>>,
    part: usize,
}

impl Counted {
    /// Adds a part.
    pub(crate) fn new(sum: &'static std::thread::LocalKey<Cell<usize>>, part: usize) -> Self {
        let mut counted = Self { sum, part: 0 };
        counted.set(part);
        counted
    }

    pub(crate) fn part(&self) -> usize {
        self.part
    }

    /// The part is so large now.
    pub(crate) fn set(&mut self, part: usize) {
        let before = std::mem::replace(&mut self.part, part);
        if part != before {
            // At the end of a thread its figures may be gone before what they count.
            let _ = self.sum.try_with(|sum| sum.set((sum.get() + part).saturating_sub(before)));
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_is_that_of_the_parts_there_are() {
        let mut first = Counted::new(&BODIES, 5);
        let second = Counted::new(&BODIES, 7);
        assert_eq!(BODIES.get(), 12);
        first.set(1);
        assert_eq!(BODIES.get(), 8);
        drop(second);
        assert_eq!(BODIES.get(), 1);
        drop(first);
        assert_eq!(BODIES.get(), 0);
    }
}
