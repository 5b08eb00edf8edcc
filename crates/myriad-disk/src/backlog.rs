//! Queue of pages that could not be written because the disk is too slow or another process has the writer lease.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Maximum number of pages in the write backlog (16 bytes each, 16 MB in total). Further pages are stored only in
/// memory.
const MAX_ENTRIES: usize = 1 << 20;

/// Queue of pages to write to disk later, oldest first, each identified by the hash of its cache key.
#[derive(Debug, Default)]
pub(crate) struct Backlog(Mutex<VecDeque<u128>>);

impl Backlog {
    /// Adds the key hash of a page. Returns false, and adds nothing, if the queue is full.
    pub(crate) fn push(&self, hash: u128) -> bool {
        let mut hashes = self.0.lock();
        if hashes.len() >= MAX_ENTRIES {
            return false;
        }
        hashes.push_back(hash);
        true
    }

    /// Removes up to `most` of the oldest key hashes from the queue and returns them.
    pub(crate) fn take(&self, most: usize) -> Vec<u128> {
        let mut hashes = self.0.lock();
        let count = most.min(hashes.len());
        let taken = hashes.drain(..count).collect();
        if hashes.is_empty() {
            // Releases the memory after a burst.
            *hashes = VecDeque::new();
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backlog_is_first_in_first_out_and_bounded() {
        let backlog = Backlog::default();
        assert!((0..MAX_ENTRIES as u128).all(|hash| backlog.push(hash << 60)));
        assert!(!backlog.push(7));
        assert_eq!(backlog.take(2), [0, 1 << 60]);
        assert!(backlog.push(7));
        assert_eq!(backlog.take(usize::MAX).last(), Some(&7));
        assert_eq!(backlog.0.lock().capacity(), 0);
    }
}
