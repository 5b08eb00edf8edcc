//! Implementation of the store's [`Metadata`] for pages: their form in memory, their labels, and the purge rules that
//! cover them.

use crate::page::{OptimizedState, PageFacts, PageMeta, PageView, purge_predicate};
use crate::{Metadata, PurgePredicate};
use myriad_policy::{EntityTag, PurgeCommand};

impl Metadata for PageMeta {
    /// Compression level with which the encoding was made.
    type EncodingMeta = u8;
    /// State of the optimized form of a page.
    type ReplacementState = OptimizedState;
    type StoredForm = PageFacts;
    type MetaView<'a> = PageView<'a>;

    fn view(&self) -> PageView<'_> {
        self.view()
    }

    fn into_stored(self, texts: &mut Vec<u8>) -> PageFacts {
        texts.extend_from_slice(&self.texts);
        self.facts
    }

    #[inline]
    fn view_stored<'a>(facts: &'a PageFacts, texts: &'a [u8]) -> PageView<'a> {
        PageView { facts, texts }
    }

    fn weight(facts: &PageFacts) -> usize {
        let tag = match &facts.tag {
            Some(EntityTag::Origin { opaque, .. }) => opaque.len() + 16,
            Some(EntityTag::Generated(_)) | None => 0,
        };
        facts.stored_lifetime.weight() + tag
    }

    fn replacement_weight(state: &OptimizedState) -> usize {
        state.heap_bytes()
    }

    fn labels(page: PageView<'_>, each: &mut dyn FnMut(u64)) {
        page.marks().labels(each);
    }

    fn address(page: PageView<'_>) -> Option<[u64; 2]> {
        Some(page.marks().subject().address())
    }

    fn fresh_until(page: PageView<'_>) -> u64 {
        page.lifetime().fresh_until
    }

    fn covers(rule: &[u8]) -> Option<PurgePredicate<Self>> {
        purge_predicate(&PurgeCommand::decode(rule)?.what).ok()
    }
}
