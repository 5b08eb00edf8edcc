//! Index from labels to files, for purges by URL or tag of pages that may be only on disk.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

/// Returns a 32-bit hash of a page's generation, which detects that a slot of the file index was reused. The low 32
/// bits of generations would not suffice: they restart at each start of the zone.
pub(crate) fn mark_of(generation: u64) -> u32 {
    (generation.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
}

/// Label, slot in the file index, and [`mark_of`] the file's generation: 16 bytes, about 25 including the tree.
///
/// Entries of a removed file are not removed at once, because its labels are no longer known. They are recognised as
/// stale by the mark and removed by [`FileLabels::tidy`].
type LabelEntry = (u64, u32, u32);

#[derive(Debug, Default)]
pub(crate) struct FileLabels {
    pairs: BTreeSet<LabelEntry>,
    /// Entry after which [`FileLabels::tidy`] continues; `None` to begin at the first.
    at: Option<LabelEntry>,
}

impl FileLabels {
    pub(crate) fn insert(&mut self, label: u64, slot: u32, generation: u64) {
        self.pairs.insert((label, slot, mark_of(generation)));
    }

    /// Returns up to `most` slots of the file index higher than `after` whose pages may have `label` (hash of a URL or
    /// tag), each with the mark of its file.
    pub(crate) fn some(&self, label: u64, after: Option<u32>, most: usize) -> Vec<(u32, u32)> {
        let first = after.map_or((label, 0, 0), |slot| (label, slot, u32::MAX));
        let pairs = self.pairs.range(first..=(label, u32::MAX, u32::MAX));
        let after = |slot: u32| after.is_none_or(|after| slot > after);
        pairs.filter(|(_, slot, _)| after(*slot)).take(most).map(|(_, slot, low)| (*slot, *low)).collect()
    }

    /// Examines the next `steps` entries of this table and removes those whose slot and mark `is_live` does not accept,
    /// because the file is gone.
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

    /// Returns all entries as (label, slot in the file index, mark of the file).
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
