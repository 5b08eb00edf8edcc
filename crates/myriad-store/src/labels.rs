//! Which entries of a shard bear a label: the inverted index behind purges by URL and tag.

use std::collections::BTreeSet;

/// Pairs of label and slot, in order: a label's slots lie side by side, and taking one out costs the same however many
/// there are.
#[derive(Debug, Default)]
pub(crate) struct Labels(BTreeSet<(u64, u32)>);

impl Labels {
    pub(crate) fn insert(&mut self, label: u64, slot: u32) {
        self.0.insert((label, slot));
    }

    pub(crate) fn remove(&mut self, label: u64, slot: u32) {
        self.0.remove(&(label, slot));
    }

    /// The slots whose entries bear `label`.
    pub(crate) fn slots(&self, label: u64) -> impl Iterator<Item = u32> {
        self.0.range((label, 0)..=(label, u32::MAX)).map(|(_, slot)| *slot)
    }
}
