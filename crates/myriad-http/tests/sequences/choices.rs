//! Random decisions of a test sequence, derived from bytes.

use std::cell::Cell;

/// Source of the decisions of a test sequence.
pub(crate) struct Choices<'a> {
    bytes: Cell<&'a [u8]>,
}

impl<'a> Choices<'a> {
    /// Creates a source of decisions from `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes: Cell::new(bytes) }
    }

    /// Returns whether all bytes are used.
    pub(crate) fn is_over(&self) -> bool {
        self.bytes.get().is_empty()
    }

    /// Returns the next byte, or 0 if all bytes are used.
    pub(crate) fn byte(&self) -> u8 {
        let Some((first, rest)) = self.bytes.get().split_first() else { return 0 };
        self.bytes.set(rest);
        *first
    }

    /// Returns a number below `end`, which is at most 256.
    pub(crate) fn below(&self, end: usize) -> usize {
        usize::from(self.byte()) % end.max(1)
    }

    /// Returns true with a probability of 1 in `count`; always false once all bytes are used.
    pub(crate) fn once_in(&self, count: usize) -> bool {
        !self.is_over() && self.below(count) == 0
    }

    /// Returns one of `all`.
    pub(crate) fn one_of<T: Copy>(&self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}
