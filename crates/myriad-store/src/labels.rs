//! Which entries of a shard bear a label: the inverted index behind purges by URL and tag.

use std::collections::BTreeSet;

/// Pairs of label and slot, in order: a label's slots lie side by side, and taking one out costs the same however many
/// there are.
#[derive(Debug, Default)]
pub(crate) struct Labels(BTreeSet<Pair>);

/// The halves of a label and a slot: twelve bytes, where a whole label would be aligned to make sixteen.
type Pair = (u32, u32, u32);

fn pair(label: u64, slot: u32) -> Pair {
    ((label >> 32) as u32, label as u32, slot)
}

impl Labels {
    /// Bytes that a pair takes, with what the tree adds and leaves empty.
    pub(crate) const BYTES: usize = 32;

    pub(crate) fn insert(&mut self, label: u64, slot: u32) {
        self.0.insert(pair(label, slot));
    }

    pub(crate) fn remove(&mut self, label: u64, slot: u32) {
        self.0.remove(&pair(label, slot));
    }

    /// The slots whose entries bear `label`.
    pub(crate) fn slots(&self, label: u64) -> impl Iterator<Item = u32> {
        self.0.range(pair(label, 0)..=pair(label, u32::MAX)).map(|(.., slot)| *slot)
    }
}
