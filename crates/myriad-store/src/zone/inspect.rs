//! Inspection of stored objects, in batches that hold a lock only briefly.

use std::path::PathBuf;
use std::sync::Arc;

use myriad_disk::DiskLimits;
use myriad_disk::index::PurgeVerdict;

use super::Zone;
use crate::disk::DiskPage;
use crate::{FinishedPurge, KeyRef, Metadata, Object};

/// Number of slots examined per call of [`Zone::inspect`] or [`Zone::inspect_disk`].
const BATCH: u32 = 64;

/// Position of an inspection of the objects in memory. The inspection starts with the default value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Index of the shard to inspect next.
    pub shard: u32,
    /// Index of the slot in that shard.
    pub slot: u32,
}

/// Purge by rule, or of everything, that is still counting pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivePurge {
    /// Name that the caller gave the purge.
    pub name: Arc<str>,
    /// Number of the purge in the sequence of all fetches and purges of the zone.
    pub number: u64,
    /// Number of pages found so far.
    pub count: usize,
}

impl<M: Metadata> Zone<M> {
    /// Returns the objects of the next slots in memory, without counting a hit, and the position to continue at; `None`
    /// if no slots remain. Objects that a hard purge covers are omitted.
    ///
    /// Objects that are stored or removed during the inspection may be missing; all others are returned once.
    pub fn inspect(&self, at: Cursor) -> (Vec<Object<M>>, Option<Cursor>) {
        let Some(shard) = self.inner.shards.get(at.shard as usize) else { return (Vec::new(), None) };
        let (mut objects, slots): (Vec<_>, u32) = {
            let shard = shard.lock();
            let slots = shard.queue.slots();
            let range = at.slot..at.slot.saturating_add(BATCH).min(slots);
            let entries = range.filter_map(|slot| shard.queue.at(slot));
            (entries.flat_map(|entry| entry.objects.iter().cloned()).collect(), slots)
        };
        objects.retain(|object| self.is_unpurged(object));
        let next = at.slot.saturating_add(BATCH);
        let next =
            if next < slots { Cursor { slot: next, ..at } } else { Cursor { shard: at.shard + 1, slot: 0 } };
        (objects, ((next.shard as usize) < self.inner.shards.len()).then_some(next))
    }

    /// Returns all variants of a key in memory that no hard purge covers, without counting a hit.
    pub fn peek(&self, key: KeyRef<'_>) -> Vec<Object<M>> {
        let key = self.key(key);
        let mut objects: Vec<_> = {
            let shard = self.shard(key);
            shard.entry(key).map_or_else(Vec::new, |entry| entry.objects.iter().cloned().collect())
        };
        objects.retain(|object| self.is_unpurged(object));
        objects
    }

    /// Returns the same object as [`Zone::get`], without counting a hit or a miss, and without applying soft purges to
    /// the object. Returns `None` if there is none.
    pub fn peek_variant(&self, key: KeyRef<'_>, variant: impl Fn(&[u8], &mut Vec<u8>)) -> Option<Object<M>> {
        let key = self.key(key);
        let found = self.shard(key).lookup(key, &variant);
        found.map(|(_, object)| object).filter(|object| self.is_unpurged(object))
    }

    /// Returns the objects in memory that have a label (hash of a URL or tag) and that no hard purge covers, without
    /// counting a hit.
    pub fn objects_with_label(&self, label: u64) -> Vec<Object<M>> {
        let mut found = Vec::new();
        for shard in &self.inner.shards {
            let shard = shard.lock();
            let entries = shard.labels.slots(label).filter_map(|slot| shard.queue.at(slot));
            found.extend(
                entries.flat_map(|entry| entry.objects.iter().filter(|o| has_label(o, label)).cloned()),
            );
        }
        found.retain(|object| self.is_unpurged(object));
        found
    }

    /// Returns the purges by rule and of everything whose pages are still being counted, oldest first.
    pub fn purges_by_rule(&self) -> Vec<LivePurge> {
        let counting = self.inner.purges.unreported().into_iter();
        counting.map(|FinishedPurge { name, number, count, .. }| LivePurge { name, number, count }).collect()
    }

    /// Returns the limits of disk space and files of the disk tier; `None` if there is none.
    pub fn disk_limits(&self) -> Option<DiskLimits> {
        Some(self.tier()?.disk.limits())
    }

    /// Returns the path of the file with an object's key and variant; `None` if none is known. The file may contain the
    /// object of another fetch.
    pub fn file_of(&self, object: &Object<M>) -> Option<PathBuf> {
        let tier = self.tier()?;
        let variant = object.selection().map(|selection| &selection.variant[..]);
        tier.disk.file_of(self.key_of(object), variant)
    }

    /// Returns the pages in the files of the next slots from `slot` on (0 at first) that are only on disk, and the slot
    /// to continue at; `None` if no slots remain. Pages that a hard purge covers are omitted.
    ///
    /// Reads the files on the calling thread, which must be allowed to block. A file that cannot be read is omitted;
    /// the next look-up of its page handles it.
    pub fn inspect_disk(&self, slot: u32) -> (Vec<DiskPage<M>>, Option<u32>) {
        let Some(tier) = self.tier() else { return (Vec::new(), None) };
        let (files, next) = tier.disk.files(slot, BATCH);
        let pages = files.into_iter().filter_map(|name| tier.read_page(name));
        (pages.filter_map(|page| self.disk_only_page(page)).collect(), next)
    }

    /// Returns all variants of a key that are only on disk, except those that a hard purge covers or whose files cannot
    /// be read. Reads files on the calling thread, which must be allowed to block.
    pub fn peek_disk(&self, key: KeyRef<'_>) -> Vec<DiskPage<M>> {
        let Some(tier) = self.tier() else { return Vec::new() };
        let pages = tier.disk.files_of(self.key(key)).into_iter().filter_map(|name| tier.read_page(name));
        pages.filter(|page| *page.key == *key.bytes()).filter_map(|page| self.disk_only_page(page)).collect()
    }

    /// Returns the pages that are only on disk and have the label `label` (hash of a URL or tag), except those that a
    /// hard purge covers or whose files cannot be read. Reads files on the calling thread, which must be allowed to
    /// block.
    pub fn disk_pages_with_label(&self, label: u64) -> Vec<DiskPage<M>> {
        let Some(tier) = self.tier() else { return Vec::new() };
        let pages = tier.disk.files_with_label(label).into_iter().filter_map(|name| tier.read_page(name));
        pages.filter_map(|page| self.disk_only_page(page)).collect()
    }

    /// Returns true if a soft purge covers the object and has not been applied to it yet. Returns false if a hard purge
    /// covers the object as well. Purges that were applied have changed [`Object::fresh_until`].
    pub fn is_made_stale(&self, object: &Object<M>) -> bool {
        self.inner.purges.peek_verdict(object.last_purge_applied(), object.key(), object.meta())
            == PurgeVerdict::Stale
    }

    /// Returns false if a hard purge covers the object, even if it has not been applied to the object yet.
    fn is_unpurged(&self, object: &Object<M>) -> bool {
        self.inner.purges.peek_verdict(object.last_purge_applied(), object.key(), object.meta())
            != PurgeVerdict::Removed
    }

    /// Returns the page of a file for display, with soft purges applied; `None` if it is purged or also in memory.
    fn disk_only_page(&self, mut page: DiskPage<M>) -> Option<DiskPage<M>> {
        match self.inner.purges.peek_verdict(page.generation, &page.key, page.meta.view()) {
            PurgeVerdict::Removed => return None,
            PurgeVerdict::Stale => page.fresh_until = 0,
            PurgeVerdict::Unaffected => {}
        }
        let is_it = |object: &Object<M>| {
            let variant = object.selection().map(|selection| &selection.variant[..]);
            variant == page.selection.as_ref().map(|selection| &selection.variant[..])
        };
        let in_memory = self.peek(KeyRef::new(&page.key)).iter().any(is_it);
        (!in_memory).then_some(page)
    }
}

fn has_label<M: Metadata>(object: &Object<M>, label: u64) -> bool {
    let mut bears = false;
    object.labels(&mut |own| bears |= own == label);
    bears
}
