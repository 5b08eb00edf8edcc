//! Inverted index of the files that have a label, for purges by URL and tag of pages that may be only on disk.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

/// Returns a mark that distinguishes the generations of a slot. The low halves would not suffice, because they restart
/// with each start of the zone.
pub(crate) fn mark_of(generation: u64) -> u32 {
    (generation.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
}

/// Label, slot of the catalogue, and the mark of the generation of its file: 16 bytes, about 25 including the tree.
///
/// The pairs of a removed file are not removed at once, because its labels are no longer known. Their mark shows that
/// they are stale, and a periodic search removes them.
type LabelEntry = (u64, u32, u32);

#[derive(Debug, Default)]
pub(crate) struct FileLabels {
    pairs: BTreeSet<LabelEntry>,
    /// Pair after which the search for stale pairs continues.
    at: Option<LabelEntry>,
}

impl FileLabels {
    pub(crate) fn insert(&mut self, label: u64, slot: u32, generation: u64) {
        self.pairs.insert((label, slot, mark_of(generation)));
    }

    /// Returns up to `most` slots that may have `label`, after slot `after`, each with its mark.
    pub(crate) fn some(&self, label: u64, after: Option<u32>, most: usize) -> Vec<(u32, u32)> {
        let first = after.map_or((label, 0, 0), |slot| (label, slot, u32::MAX));
        let pairs = self.pairs.range(first..=(label, u32::MAX, u32::MAX));
        let after = |slot: u32| after.is_none_or(|after| slot > after);
        pairs.filter(|(_, slot, _)| after(*slot)).take(most).map(|(_, slot, low)| (*slot, *low)).collect()
    }

    /// Examines `steps` pairs and removes those that are stale.
    pub(crate) fn tidy(&mut self, steps: usize, is_live: impl Fn(u32, u32) -> bool) {
        let from = self.at.map_or(Unbounded, Excluded);
        let seen: Vec<LabelEntry> = self.pairs.range((from, Unbounded)).take(steps).copied().collect();
        self.at = seen.last().copied().filter(|_| seen.len() == steps);
        for pair in seen.into_iter().filter(|(_, slot, low)| !is_live(*slot, *low)) {
            self.pairs.remove(&pair);
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns all pairs: label, slot, mark.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u32, u32)> {
        self.pairs.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_in_batches() {
        let mut labels = FileLabels::default();
        for slot in 0..10 {
            labels.insert(7, slot, u64::from(slot));
            labels.insert(8, slot, 0);
        }
        let mark = |slot: u32| (slot, mark_of(u64::from(slot)));
        assert_eq!(labels.some(7, None, 3), [mark(0), mark(1), mark(2)]);
        assert_eq!(labels.some(7, Some(2), 100).len(), 7);
        assert_eq!(labels.some(9, None, 100), []);
        labels.insert(u64::MAX, u32::MAX, 1);
        assert_eq!(labels.some(u64::MAX, None, 1), [(u32::MAX, mark_of(1))]);
        assert_eq!(labels.some(u64::MAX, Some(u32::MAX), 1), []);
    }

    #[test]
    fn generations_of_different_starts_have_different_marks() {
        for number in 0..1000 {
            let marks: BTreeSet<u32> = (1..100_u64).map(|start| mark_of((start << 40) + number)).collect();
            assert_eq!(marks.len(), 99);
        }
    }

    #[test]
    fn stale_pairs_go_step_by_step() {
        let mut labels = FileLabels::default();
        (0..100).for_each(|slot| labels.insert(1, slot, 0));
        for _ in 0..15 {
            labels.tidy(8, |slot, _| slot % 2 == 0);
        }
        assert_eq!(labels.len(), 50);
        labels.tidy(1000, |_, _| false);
        labels.tidy(1000, |_, _| false);
        assert_eq!(labels.len(), 0);
    }
}
