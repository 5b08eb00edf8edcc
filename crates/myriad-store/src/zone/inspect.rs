//! Showing people what is stored, in batches that hold no lock for longer than a look-up may wait.

use std::path::PathBuf;
use std::sync::Arc;

use myriad_disk::DiskLimits;
use myriad_index::Verdict;

use super::Zone;
use crate::disk::DiskPage;
use crate::{KeyRef, Metadata, Object, Retired};

/// Slots that one call of [`Zone::inspect`] or [`Zone::inspect_disk`] looks at.
const BATCH: u32 = 64;

/// The place at which an inspection of the memory tier goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The shard.
    pub shard: u32,
    /// The slot in it.
    pub slot: u32,
}

/// A purge by rule that is not retired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivePurge {
    /// Its name, as the caller gave it.
    pub name: Arc<str>,
    /// Its place in the zone's sequence.
    pub number: u64,
    /// Objects found so far.
    pub count: usize,
}

impl<M: Metadata> Zone<M> {
    /// Some of the objects in memory, without counting as a use of them, and where to go on; `None` at the end.
    /// Objects that come or go meanwhile may be seen or not; all others are seen once.
    pub fn inspect(&self, at: Cursor) -> (Vec<Object<M>>, Option<Cursor>) {
        let Some(shard) = self.inner.shards.get(at.shard as usize) else { return (Vec::new(), None) };
        let (mut objects, slots): (Vec<_>, u32) = {
            let shard = shard.lock();
            let slots = shard.queue.slots();
            let range = at.slot..at.slot.saturating_add(BATCH).min(slots);
            let entries = range.filter_map(|slot| shard.queue.at(slot));
            (entries.flat_map(|entry| entry.objects.iter().cloned()).collect(), slots)
        };
        objects.retain(|object| self.is_there(object));
        let next = at.slot.saturating_add(BATCH);
        let next =
            if next < slots { Cursor { slot: next, ..at } } else { Cursor { shard: at.shard + 1, slot: 0 } };
        (objects, ((next.shard as usize) < self.inner.shards.len()).then_some(next))
    }

    /// All variants of a key that are in memory, without counting as a use of them.
    pub fn peek(&self, key: KeyRef<'_>) -> Vec<Object<M>> {
        let key = self.key(key);
        let mut objects: Vec<_> = {
            let shard = self.shard(key);
            shard.entry(key).map_or_else(Vec::new, |entry| entry.objects.iter().cloned().collect())
        };
        objects.retain(|object| self.is_there(object));
        objects
    }

    /// What [`Zone::get`] would find, without counting as a use of it, nor as a miss.
    pub fn glance(&self, key: KeyRef<'_>, variant: impl Fn(&[u8], &mut Vec<u8>)) -> Option<Object<M>> {
        let key = self.key(key);
        let found = self.shard(key).lookup(key, &variant);
        found.map(|(_, object)| object).filter(|object| self.is_there(object))
    }

    /// The objects in memory that bear a label, without counting as a use of them.
    pub fn labelled(&self, label: u64) -> Vec<Object<M>> {
        let mut found = Vec::new();
        for shard in &self.inner.shards {
            let shard = shard.lock();
            let entries = shard.labels.slots(label).filter_map(|slot| shard.queue.at(slot));
            found.extend(entries.flat_map(|entry| entry.objects.iter().filter(|o| bears(o, label)).cloned()));
        }
        found.retain(|object| self.is_there(object));
        found
    }

    /// The purges by rule whose pages are being counted, oldest first.
    pub fn purges_by_rule(&self) -> Vec<LivePurge> {
        let counting = self.inner.purges.untold().into_iter();
        counting.map(|Retired { name, number, count }| LivePurge { name, number, count }).collect()
    }

    /// The limits of the disk tier, if there is one.
    pub fn disk_limits(&self) -> Option<DiskLimits> {
        Some(self.tier()?.disk.limits())
    }

    /// The file of an object in memory, where it is known to have one.
    pub fn file_of(&self, object: &Object<M>) -> Option<PathBuf> {
        let tier = self.tier()?;
        let variant = object.selection().map(|selection| &selection.variant[..]);
        tier.disk.file_of(self.key_of(object), variant)
    }

    /// Some of the pages that lie on disk alone, from the slot where the last call ended (0 at first), and where to go
    /// on; `None` at the end. Reads the heads of their files on this thread, which must be one that may wait. A file
    /// that cannot be read is passed over: the next look-up of its page deals with it.
    pub fn inspect_disk(&self, slot: u32) -> (Vec<DiskPage<M>>, Option<u32>) {
        let Some(tier) = self.tier() else { return (Vec::new(), None) };
        let (files, next) = tier.disk.files(slot, BATCH);
        let pages = files.into_iter().filter_map(|name| tier.read_page(name));
        (pages.filter_map(|page| self.on_disk_alone(page)).collect(), next)
    }

    /// All variants of a key that lie on disk alone. Reads on this thread, as [`Self::inspect_disk`] does.
    pub fn peek_disk(&self, key: KeyRef<'_>) -> Vec<DiskPage<M>> {
        let Some(tier) = self.tier() else { return Vec::new() };
        let pages = tier.disk.files_of(self.key(key)).into_iter().filter_map(|name| tier.read_page(name));
        pages.filter(|page| *page.key == *key.bytes()).filter_map(|page| self.on_disk_alone(page)).collect()
    }

    /// The pages on disk alone that bear a label. Reads on this thread, as [`Self::inspect_disk`] does.
    pub fn labelled_on_disk(&self, label: u64) -> Vec<DiskPage<M>> {
        let Some(tier) = self.tier() else { return Vec::new() };
        let pages = tier.disk.files_bearing(label).into_iter().filter_map(|name| tier.read_page(name));
        pages.filter_map(|page| self.on_disk_alone(page)).collect()
    }

    /// Whether a soft purge has made the object stale, though no look-up has found it out yet.
    pub fn is_made_stale(&self, object: &Object<M>) -> bool {
        self.inner.purges.look_at(object.asked_by(), object.key(), object.meta()) == Verdict::Stale
    }

    /// Whether no purge has taken the object, though no look-up has found it out yet.
    fn is_there(&self, object: &Object<M>) -> bool {
        self.inner.purges.look_at(object.asked_by(), object.key(), object.meta()) != Verdict::Goes
    }

    /// The page of a file as it is to be shown: unless it is purged, or in memory too.
    fn on_disk_alone(&self, mut page: DiskPage<M>) -> Option<DiskPage<M>> {
        match self.inner.purges.look_at(page.generation, &page.key, page.meta.view()) {
            Verdict::Goes => return None,
            Verdict::Stale => page.fresh_until = 0,
            Verdict::Stays => {}
        }
        let is_it = |object: &Object<M>| {
            let variant = object.selection().map(|selection| &selection.variant[..]);
            variant == page.selection.as_ref().map(|selection| &selection.variant[..])
        };
        let in_memory = self.peek(KeyRef::new(&page.key)).iter().any(is_it);
        (!in_memory).then_some(page)
    }
}

fn bears<M: Metadata>(object: &Object<M>, label: u64) -> bool {
    let mut bears = false;
    object.labels(&mut |own| bears |= own == label);
    bears
}
