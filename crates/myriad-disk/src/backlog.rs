//! Pages that came faster than the disk writes: they are written once it has time.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Most pages that are remembered: 16 MB. Pages beyond them stay in memory alone.
const MOST: usize = 1 << 20;

/// The hashes of their keys, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Backlog(Mutex<VecDeque<u128>>);

impl Backlog {
    /// Remembers a page; false where there are too many already.
    pub(crate) fn push(&self, hash: u128) -> bool {
        let mut hashes = self.0.lock();
        if hashes.len() >= MOST {
            return false;
        }
        hashes.push_back(hash);
        true
    }

    /// Takes up to `most` of those that came first.
    pub(crate) fn take(&self, most: usize) -> Vec<u128> {
        let mut hashes = self.0.lock();
        let count = most.min(hashes.len());
        let taken = hashes.drain(..count).collect();
        if hashes.is_empty() {
            // The memory of a flood that is over is given back.
            *hashes = VecDeque::new();
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_first_is_taken_first_and_no_more_than_is_bounded_is_kept() {
        let backlog = Backlog::default();
        assert!((0..MOST as u128).all(|hash| backlog.push(hash << 60)));
        assert!(!backlog.push(7));
        assert_eq!(backlog.take(2), [0, 1 << 60]);
        assert!(backlog.push(7));
        assert_eq!(backlog.take(usize::MAX).last(), Some(&7));
        assert_eq!(backlog.0.lock().capacity(), 0);
    }
}
