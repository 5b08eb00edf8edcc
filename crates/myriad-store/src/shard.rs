//! Shard: a part of a zone that one lock guards, with its entries, flights and key notes.

use std::sync::Arc;

use hashbrown::HashTable;
use myriad_disk::index::{
    HashedKeyRef, KeyNotes, LabelIndex, LivePurges, PurgeVerdict, S3Fifo, Seed, SlotTable,
};

use crate::flight::Flight;
use crate::variants::Variants;
use crate::{Metadata, Object, Selection};

/// Stored objects of one key: a single object, or variants with the same selector.
///
/// Eviction removes whole entries, so that all variants of a key share their hits.
#[derive(Debug)]
pub(crate) struct KeyEntry<M: Metadata> {
    pub(crate) objects: Variants<M>,
}

impl<M: Metadata> KeyEntry<M> {
    pub(crate) fn new(object: &Object<M>) -> Self {
        Self { objects: Variants::One(object.clone()) }
    }

    pub(crate) fn last_used(&self) -> u64 {
        self.objects.iter().map(Object::last_used).max().unwrap_or(0)
    }

    /// Returns the sum of the objects' approximate weights, in the unit of [`Object::rough_weight`].
    fn rough_weight(&self) -> u64 {
        self.objects.iter().map(|object| u64::from(object.rough_weight())).sum()
    }

    /// Returns the number of hits on the objects of this key since the last call, counting at most three per object.
    fn take_unseen_hits(&self) -> u8 {
        self.objects.iter().map(Object::take_unseen_hits).fold(0, u8::saturating_add)
    }

    /// Bytes of an entry besides its objects: its slot in the queue, and its share of the table.
    pub(crate) const OVERHEAD: usize = S3Fifo::<Self>::SLOT_BYTES + SlotTable::<Object<M>>::BYTES;

    /// Returns the key, which each object contains. The hash is computed again instead of being stored; look-ups, the
    /// most frequent operation, have the hash already.
    pub(crate) fn key(&self, seed: Seed) -> HashedKeyRef<'_> {
        seed.hashed(self.objects.first().map_or(&[], Object::key))
    }

    pub(crate) fn weight(&self) -> usize {
        Self::OVERHEAD + self.objects.iter().map(Object::weight).sum::<usize>()
    }

    pub(crate) fn selector(&self) -> Option<&Arc<[u8]>> {
        self.objects.first()?.selection().map(|s| &s.selector)
    }

    fn select(&self, variant: &impl Fn(&[u8], &mut Vec<u8>), scratch: &mut Vec<u8>) -> Option<usize> {
        let Some(selector) = self.selector() else { return Some(0) };
        scratch.clear();
        variant(selector, scratch);
        self.objects.iter().position(|o| o.selection().is_some_and(|s| *s.variant == **scratch))
    }
}

/// Result of a look-up of a key: the index of its entry in the eviction queue, and the matching object.
pub(crate) type LookupResult<M> = (u32, Object<M>);

/// Entry or object removed from a shard. After the lock is released, it must be dropped, and its bytes released.
pub(crate) enum RemovedItem<M: Metadata> {
    Entry(KeyEntry<M>),
    Object(Object<M>),
}

/// Role of a flight (a fetch for a key): whether requests may share it, and whether its object may be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlightRole {
    /// Requests may share the flight, and the object may be stored.
    Open,
    /// Requests may not share the flight, but the object may be stored: the flight is too old, a purge may cover it, or
    /// it is a separate fetch.
    Closed,
    /// The flight reads an object from disk. Claims do not find it, but further reads of the key join it. The object
    /// may be stored in memory.
    Loading,
    /// The body is too long for memory: claims do not join but return [`Claim::Pass`](crate::Claim::Pass), and the
    /// object is stored only if the body was written to disk.
    Oversized,
    /// A purge covers the flight, or purges are not retained for it any more: further requests do not find it, and the
    /// object may not be stored.
    Purged,
}

/// Flight, with the data that the shard's lock guards.
#[derive(Debug)]
pub(crate) struct FlightRecord<M: Metadata> {
    pub(crate) flight: Arc<Flight<M>>,
    pub(crate) role: FlightRole,
    /// Set if the object can be stored. Cleared if the body is too long for memory and is not written to disk.
    pub(crate) may_store: bool,
    /// Labels of the URL being fetched (hashes by which purges find it); `None` if they are unknown, or if purges of
    /// another URL may cover the flight as well.
    pub(crate) address: Option<[u64; 2]>,
    /// Response head; `None` before it has arrived.
    pub(crate) head: Option<Arc<M>>,
    /// Variant that is being fetched; `None` if it is unknown or the key has no variants.
    pub(crate) selection: Option<Selection>,
}

#[derive(Debug, Default)]
pub(crate) struct ShardCounts {
    pub(crate) objects: usize,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) stored: u64,
    pub(crate) evictions: u64,
    pub(crate) expired: u64,
    pub(crate) purged: u64,
}

/// Part of a zone with its own lock and a share of the keys. Aligned so that two shards share neither a cache line nor
/// a pair of lines that is fetched together.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Shard<M: Metadata> {
    /// Entries by key hash, each with its first object, which is usually the only one.
    table: SlotTable<Object<M>>,
    /// Seed with which the keys of the zone are hashed.
    pub(crate) seed: Seed,
    pub(crate) queue: S3Fifo<KeyEntry<M>>,
    pub(crate) flights: HashTable<FlightRecord<M>>,
    pub(crate) labels: LabelIndex,
    pub(crate) notes: KeyNotes,
    pub(crate) counts: ShardCounts,
    /// Buffer for the variants of requests, so that a hit does not allocate.
    pub(crate) scratch: Vec<u8>,
}

impl<M: Metadata> Shard<M> {
    pub(crate) fn new(note_sets: usize, seed: Seed) -> Self {
        Self {
            table: SlotTable::default(),
            seed,
            queue: S3Fifo::default(),
            flights: HashTable::new(),
            labels: LabelIndex::default(),
            notes: KeyNotes::new(note_sets),
            counts: ShardCounts::default(),
            scratch: Vec::new(),
        }
    }

    pub(crate) fn find(&self, key: HashedKeyRef<'_>) -> Option<u32> {
        self.table.find(key.table_hash(), |first| *first.key() == *key.bytes()).map(|(index, _)| index)
    }

    /// Returns the index of an entry by the hash of its key; `None` if there is none.
    pub(crate) fn find_hash(&self, hash: u128) -> Option<u32> {
        let is_it = |first: &Object<M>| self.seed.hash(first.key()) == hash;
        self.table.find(hash as u64, is_it).map(|(index, _)| index)
    }

    pub(crate) fn entry(&self, key: HashedKeyRef<'_>) -> Option<&KeyEntry<M>> {
        self.queue.at(self.find(key)?)
    }

    /// Returns the index of the entry of `key`, and the object in it that matches the request; `None` if there is none.
    /// `variant` derives the request's variant from a selector.
    #[inline]
    pub(crate) fn lookup(
        &mut self,
        key: HashedKeyRef<'_>,
        variant: &impl Fn(&[u8], &mut Vec<u8>),
    ) -> Option<LookupResult<M>> {
        let (index, first) = self.table.find(key.table_hash(), |first| {
            first.prefetch();
            *first.key() == *key.bytes()
        })?;
        if first.selection().is_none() {
            return Some((index, first.clone()));
        }
        let entry = self.queue.at(index)?;
        let position = entry.select(variant, &mut self.scratch)?;
        Some((index, entry.objects[position].clone()))
    }

    /// Like [`Self::lookup`], but applies new purges to the object first. An object that they remove is taken out of
    /// the shard and returned as the second value (otherwise `None`), which the caller must drop after it has released
    /// the lock.
    #[inline]
    pub(crate) fn lookup_unpurged(
        &mut self,
        key: HashedKeyRef<'_>,
        variant: &impl Fn(&[u8], &mut Vec<u8>),
        purges: &LivePurges<M>,
    ) -> (Option<LookupResult<M>>, Option<RemovedItem<M>>) {
        let Some((index, object)) = self.lookup(key, variant) else { return (None, None) };
        if !purges.any_since(object.last_purge_applied()) || purges.judge(&object) != PurgeVerdict::Removed {
            return (Some((index, object)), None);
        }
        let objects = self.queue.at(index).map_or(&[][..], |entry| &entry.objects);
        let position = objects.iter().position(|stored| stored.is_same(&object));
        (None, position.and_then(|position| self.purge(index, position)))
    }

    /// Like [`Self::remove_object`], but counts the object as purged.
    pub(crate) fn purge(&mut self, index: u32, position: usize) -> Option<RemovedItem<M>> {
        let taken = self.remove_object(index, position);
        self.counts.purged += u64::from(taken.is_some());
        taken
    }

    /// Removes the object at `position` from the entry at `index`, or the whole entry if it has only one object.
    /// Returns what was removed; `None` if there is no entry at `index`.
    pub(crate) fn remove_object(&mut self, index: u32, position: usize) -> Option<RemovedItem<M>> {
        let entry = self.queue.at_mut(index)?;
        let Some(object) = entry.objects.take(position) else {
            return self.remove(index).map(RemovedItem::Entry);
        };
        self.counts.objects -= 1;
        self.update_after_removal(index, std::slice::from_ref(&object));
        Some(RemovedItem::Object(object))
    }

    /// Updates hash table, labels and eviction queue after the objects `gone` were removed from an entry. Their hits
    /// count for the entry.
    pub(crate) fn update_after_removal(&mut self, index: u32, gone: &[Object<M>]) {
        let unseen = gone.iter().map(Object::take_unseen_hits).fold(0, u8::saturating_add);
        if unseen > 0 {
            self.queue.hit(index, unseen);
        }
        let labels = &mut self.labels;
        for object in gone {
            object.labels(&mut |label| labels.remove(label, index));
        }
        self.insert_labels(index);
        let Some(entry) = self.queue.at(index) else { return };
        // This drops the table's handle of the first object, but does not free the object: if it was removed, `gone`
        // has another handle.
        self.table.replace(entry.key(self.seed).table_hash(), index, entry.objects[0].clone());
    }

    fn insert_labels(&mut self, index: u32) {
        let labels = &mut self.labels;
        let objects = self.queue.at(index).into_iter().flat_map(|entry| entry.objects.iter());
        objects.for_each(|object| object.labels(&mut |label| labels.insert(label, index)));
    }

    /// Counts a hit on the result of [`Self::lookup`].
    #[inline]
    pub(crate) fn hit(&mut self, object: &Object<M>, now: u64) {
        object.count_hit(now);
        self.counts.hits += 1;
    }

    /// Inserts an entry for a key that is not in the shard yet.
    pub(crate) fn insert(&mut self, entry: KeyEntry<M>) {
        let hash = entry.key(self.seed).table_hash();
        self.counts.objects += entry.objects.len();
        let first = entry.objects[0].clone();
        let index = self.queue.insert(entry, hash);
        self.table.insert(hash, index, first);
        self.insert_labels(index);
    }

    /// Removes and returns the next entry to evict; `None` if the shard is empty.
    pub(crate) fn evict(&mut self) -> Option<KeyEntry<M>> {
        let index = self.queue.victim(KeyEntry::rough_weight, KeyEntry::take_unseen_hits)?;
        let hash = self.queue.at(index)?.key(self.seed).table_hash();
        self.queue.remember(index, hash);
        let evicted = self.remove_hashed(index, hash);
        self.counts.evictions += u64::from(evicted.is_some());
        evicted
    }

    pub(crate) fn remove(&mut self, index: u32) -> Option<KeyEntry<M>> {
        let hash = self.queue.at(index)?.key(self.seed).table_hash();
        self.remove_hashed(index, hash)
    }

    fn remove_hashed(&mut self, index: u32, hash: u64) -> Option<KeyEntry<M>> {
        let entry = self.queue.remove(index)?;
        self.table.remove(hash, index);
        self.counts.objects -= entry.objects.len();
        let labels = &mut self.labels;
        for object in entry.objects.iter() {
            object.labels(&mut |label| labels.remove(label, index));
        }
        Some(entry)
    }

    pub(crate) fn add_flight(&mut self, record: FlightRecord<M>) {
        let hash = |r: &FlightRecord<M>| r.flight.key.as_ref().table_hash();
        self.flights.insert_unique(hash(&record), record, hash);
    }

    pub(crate) fn flight_mut(&mut self, flight: &Arc<Flight<M>>) -> Option<&mut FlightRecord<M>> {
        self.flights.find_mut(flight.key.as_ref().table_hash(), |r| Arc::ptr_eq(&r.flight, flight))
    }

    /// Removes a flight; `None` if it is not in the shard any more.
    pub(crate) fn remove_flight(&mut self, flight: &Arc<Flight<M>>) -> Option<FlightRecord<M>> {
        let hash = flight.key.as_ref().table_hash();
        let found = self.flights.find_entry(hash, |r| Arc::ptr_eq(&r.flight, flight)).ok()?;
        Some(found.remove().0)
    }

    /// Returns all flights (fetches) of `key`, whatever their role.
    pub(crate) fn flights_of_key(
        &mut self,
        key: HashedKeyRef<'_>,
    ) -> impl Iterator<Item = &mut FlightRecord<M>> {
        self.flights.iter_hash_mut(key.table_hash()).filter(move |r| r.flight.key.matches(key))
    }
}
