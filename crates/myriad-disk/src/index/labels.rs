//! Index from labels to the entries of a shard, for purges by URL and tag.

use std::collections::BTreeSet;

/// Ordered pairs of label (hash of a URL or tag by which purges find entries) and slot: the slots of a label are
/// adjacent, and removing a pair costs the same for any number of slots.
#[derive(Debug, Default)]
pub struct LabelIndex(BTreeSet<LabelSlot>);

/// High and low half of a label, and a slot: 12 bytes. A whole `u64` would need an alignment that makes it 16.
type LabelSlot = (u32, u32, u32);

fn pair(label: u64, slot: u32) -> LabelSlot {
    ((label >> 32) as u32, label as u32, slot)
}

/// Progress of a search in [`LabelIndex`] for the slots of several labels, in steps of bounded length.
#[derive(Debug, Default)]
pub struct LabelWalk {
    label: usize,
    after: Option<u32>,
}

impl LabelWalk {
    /// Returns true if the search has finished all `labels`, which must be the same in each step.
    pub fn is_over(&self, labels: &[u64]) -> bool {
        self.label >= labels.len()
    }
}

impl LabelIndex {
    /// Number of bytes per pair of label and slot, including overhead and unused space of the tree.
    pub const BYTES: usize = 32;

    /// Records that the entry in a slot has a label.
    pub fn insert(&mut self, label: u64, slot: u32) {
        self.0.insert(pair(label, slot));
    }

    /// Records that the entry in a slot no longer has a label.
    pub fn remove(&mut self, label: u64, slot: u32) {
        self.0.remove(&pair(label, slot));
    }

    /// Returns up to `most` further slots whose entries have one of `labels`. A step examines at most `most` labels, so
    /// it may return no slot before the search is over. Entries may be added and removed between steps.
    pub fn next(&self, labels: &[u64], walk: &mut LabelWalk, most: usize) -> Vec<u32> {
        let mut slots = Vec::new();
        for label in labels.iter().skip(walk.label).take(most) {
            let first = walk.after.map_or(0, |after| after.saturating_add(1));
            let of_label = self.0.range(pair(*label, first)..=pair(*label, u32::MAX));
            slots.extend(of_label.map(|(.., slot)| *slot).take(most - slots.len()));
            if slots.len() == most {
                walk.after = slots.last().copied();
                return slots;
            }
            *walk = LabelWalk { label: walk.label + 1, after: None };
        }
        slots
    }

    /// Returns the slots whose entries have `label`.
    pub fn slots(&self, label: u64) -> impl Iterator<Item = u32> {
        self.0.range(pair(label, 0)..=pair(label, u32::MAX)).map(|(.., slot)| *slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_comes_to_all_slots_in_batches_whatever_leaves_meanwhile() {
        let labels = [1, 2, 3, 4, 5];
        for (each, most) in [(100, 64), (64, 64), (1, 2), (0, 1), (7, 1000)] {
            let mut index = LabelIndex::default();
            for label in [1, 2, 4] {
                (0..each).for_each(|slot| index.insert(label, slot));
            }
            let (mut walk, mut found) = (LabelWalk::default(), Vec::new());
            while !walk.is_over(&labels) {
                let slots = index.next(&labels, &mut walk, most);
                assert!(slots.len() <= most);
                for slot in &slots {
                    index.remove(1, *slot);
                }
                found.extend(slots);
            }
            let all: Vec<u32> = (0..3).flat_map(|_| 0..each).collect();
            assert_eq!(found, all);
        }
    }
}
