//! Counts of one worker's responses by status.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use myriad_store::page::Counter;

/// Number of statuses in a block of counters.
const PIECE: usize = 4;

/// Counts of one worker's responses by status, in blocks. Most sites use few statuses; an origin that sends all
/// possible statuses makes the blocks grow to less than 20 KB.
#[derive(Debug, Default)]
pub(super) struct CodeCounts {
    /// Statuses of this block; 0 for an unused slot.
    codes: [AtomicU16; PIECE],
    counts: [Counter; PIECE],
    /// Next block, for further statuses; unset if there are none.
    more: OnceLock<Box<Self>>,
}

impl CodeCounts {
    /// Counts a response with a status from 1 to 999. Must be called only on the worker's thread.
    pub(super) fn add(&self, code: u16) {
        let mut piece = self;
        loop {
            for (known, count) in piece.codes.iter().zip(&piece.counts) {
                let of = known.load(Relaxed);
                if of == 0 {
                    known.store(code, Relaxed);
                }
                if of == code || of == 0 {
                    return count.add(1);
                }
            }
            piece = piece.more.get_or_init(Box::default);
        }
    }

    /// Adds the number of responses with each status to `sums`.
    pub(super) fn read(&self, sums: &mut BTreeMap<u16, u64>) {
        let mut next = Some(self);
        while let Some(piece) = next {
            for (code, count) in piece.codes.iter().zip(&piece.counts) {
                if code.load(Relaxed) > 0 {
                    *sums.entry(code.load(Relaxed)).or_default() += count.get();
                }
            }
            next = piece.more.get().map(|more| &**more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_its_count_however_many_there_are() {
        let counts = CodeCounts::default();
        for code in 100..=999 {
            for _ in 0..=code % 3 {
                counts.add(code);
            }
        }
        let mut sums = BTreeMap::new();
        counts.read(&mut sums);
        assert_eq!(sums.len(), 900);
        assert!(sums.iter().all(|(code, sum)| *sum == u64::from(code % 3 + 1)));
    }
}
