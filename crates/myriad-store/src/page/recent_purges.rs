//! Purges by tag or URL, as seen by data that a zone does not store: the parts of pages that belong to one visitor.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// Maximum number of labels (hashes of tags and URLs) with the number of their last purge.
const LABELS: usize = 16_384;

/// Numbers of the last purges of a zone, by label of the purged tags and URLs.
///
/// Data from an origin is valid if no purge since the start of its request covers one of its tags or its URL. The number of stored
/// labels is bounded: if there are too many, all are forgotten, and data that was requested before is no longer valid.
#[derive(Debug, Default)]
pub struct RecentPurges {
    /// Number of the last purge.
    last: AtomicU64,
    labels: Mutex<PurgedLabels>,
}

#[derive(Debug, Default)]
struct PurgedLabels {
    numbers: HashMap<u64, u64>,
    /// Number of the last purge that may cover any data, whatever its tags and URL; 0 if there was none. Forgetting the
    /// stored labels counts as such a purge.
    of_all: u64,
}

impl RecentPurges {
    /// Returns the number of the last purge; 0 if there was none.
    pub fn last(&self) -> u64 {
        self.last.load(Ordering::SeqCst)
    }

    /// Records a purge of the tags and URLs with the label hashes `labels`. Must be called before the purge is reported
    /// as complete. If there are too many labels, all are forgotten, and the purge counts as one of all data.
    pub fn note_labels(&self, labels: &[u64]) {
        let mut purged = self.labels.lock();
        let number = self.last() + 1;
        if purged.numbers.len() + labels.len() > LABELS {
            purged.numbers.clear();
            purged.of_all = number;
        } else {
            purged.numbers.extend(labels.iter().map(|label| (*label, number)));
        }
        self.last.store(number, Ordering::SeqCst);
    }

    /// Records a purge that may cover any data, whatever its tags and URL.
    pub fn note_all(&self) {
        let mut purged = self.labels.lock();
        let number = self.last() + 1;
        purged.numbers.clear();
        purged.of_all = number;
        self.last.store(number, Ordering::SeqCst);
    }

    /// Returns true if a purge with a higher number than `since` covers data with these labels, or may cover it because
    /// purged labels were forgotten.
    pub fn covers(&self, since: u64, labels: &[u64]) -> bool {
        if self.last() == since {
            return false;
        }
        let purged = self.labels.lock();
        let is_later = |label| purged.numbers.get(label).is_some_and(|number| *number > since);
        purged.of_all > since || labels.iter().any(is_later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purge_covers_what_was_requested_before_and_has_its_tag() {
        let purges = RecentPurges::default();
        let before = purges.last();
        purges.note_labels(&[1, 2]);
        assert!(
            purges.covers(before, &[2, 3]) && !purges.covers(before, &[3]) && !purges.covers(before, &[])
        );
        let after = purges.last();
        assert!(!purges.covers(after, &[2]));
        purges.note_labels(&[3]);
        assert!(!purges.covers(after, &[2]) && purges.covers(after, &[3]));
        purges.note_all();
        assert!(purges.covers(after, &[]) && !purges.covers(purges.last(), &[1, 2, 3]));
    }

    #[test]
    fn number_of_labels_is_bounded_and_forgotten_ones_count_as_purged() {
        let purges = RecentPurges::default();
        purges.note_labels(&[7]);
        let since = purges.last();
        for label in 0..2 * LABELS as u64 {
            purges.note_labels(&[label + 100]);
        }
        assert!(purges.labels.lock().numbers.len() <= LABELS);
        assert!(purges.covers(since, &[8]), "purges since then were forgotten");
        assert!(!purges.covers(purges.last(), &[8]));
    }
}
