//! What one lock of a zone guards: stored entries, flights, notes.

use std::num::NonZeroU64;
use std::sync::Arc;

use hashbrown::HashTable;
use smallvec::{SmallVec, smallvec};

use crate::ban::{Bans, Verdict};
use crate::flight::Flight;
use crate::labels::Labels;
use crate::notes::Notes;
use crate::s3_fifo::S3Fifo;
use crate::{KeyRef, Metadata, Object, Selection};

/// All that is stored under one key: one object without a selector, or variants that share one selector.
///
/// The key is the unit of eviction, since it is the page that is hot or cold.
#[derive(Debug)]
pub(crate) struct Entry<M: Metadata> {
    /// The half of the key's hash that places it in the table; the key itself stands with the objects.
    pub(crate) hash: u64,
    /// Never empty.
    pub(crate) objects: SmallVec<[Arc<Object<M>>; 1]>,
    /// Never zero, so that a vacant slot needs no mark of its own.
    last_used: NonZeroU64,
}

fn moment(now: u64) -> NonZeroU64 {
    NonZeroU64::new(now).unwrap_or(NonZeroU64::MIN)
}

impl<M: Metadata> Entry<M> {
    pub(crate) fn new(key: KeyRef<'_>, object: &Arc<Object<M>>) -> Self {
        Self {
            hash: key.table_hash(),
            objects: smallvec![Arc::clone(object)],
            last_used: moment(object.used_at()),
        }
    }

    pub(crate) fn last_used(&self) -> u64 {
        self.last_used.get()
    }

    /// Notes a use; an earlier one than is known changes nothing.
    pub(crate) fn used_at(&mut self, at: u64) {
        self.last_used = self.last_used.max(moment(at));
    }

    /// Bytes of an entry beside its objects and key bytes: its slot, its share of a table at 7/8 load after doubling,
    /// and the allocation of the key.
    pub(crate) const OVERHEAD: usize = S3Fifo::<Self>::SLOT_BYTES + 8 + 32;

    pub(crate) fn base_weight(key: KeyRef<'_>) -> usize {
        Self::OVERHEAD + key.bytes().len()
    }

    pub(crate) fn key(&self) -> Option<&Arc<[u8]>> {
        self.objects.first().map(|object| object.key())
    }

    fn is_of(&self, key: KeyRef<'_>) -> bool {
        self.hash == key.table_hash() && self.key().is_some_and(|own| **own == *key.bytes())
    }

    pub(crate) fn weight(&self) -> usize {
        Self::OVERHEAD
            + self.key().map_or(0, |key| key.len())
            + self.objects.iter().map(|o| o.weight()).sum::<usize>()
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

/// What a ban took out of a shard: to be dropped, and its bytes released, once the lock is.
pub(crate) enum Taken<M: Metadata> {
    Entry(Entry<M>),
    Object(Arc<Object<M>>),
}

/// What a flight in the table is to claims and to its own completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Takes followers, may store.
    Open,
    /// Takes no followers, may store: older than the lock, or fetched alone.
    Closed,
    /// Reads from disk: claims do not see it, and it stores what was stored before.
    Loading,
    /// Takes no followers; claims pass. Stores nothing, unless its body came to disk.
    Oversized,
    /// Takes no followers and stores nothing; claims do not see it.
    Purged,
}

/// A flight with what the shard's lock guards of it.
#[derive(Debug)]
pub(crate) struct Record<M: Metadata> {
    pub(crate) flight: Arc<Flight<M>>,
    pub(crate) role: Role,
    /// The labels of what it fetches, where the claim told them.
    pub(crate) address: Option<[u64; 2]>,
    /// Its head, once it is admitted.
    pub(crate) head: Option<Arc<M>>,
    /// The variant it fetches; `None` stands for the whole key.
    pub(crate) selection: Option<Selection>,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) objects: usize,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) stored: u64,
    pub(crate) evictions: u64,
    pub(crate) expired: u64,
    pub(crate) purged: u64,
}

/// Aligned so that two shards never share a cache line (or the pair of lines that is fetched together).
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Shard<M: Metadata> {
    table: HashTable<u32>,
    pub(crate) queue: S3Fifo<Entry<M>>,
    pub(crate) flights: HashTable<Record<M>>,
    pub(crate) labels: Labels,
    pub(crate) notes: Notes,
    pub(crate) counts: Counts,
    /// Variant keys are derived into this, so that a hit on a variant allocates nothing.
    pub(crate) scratch: Vec<u8>,
}

impl<M: Metadata> Shard<M> {
    pub(crate) fn new(note_sets: usize) -> Self {
        Self {
            table: HashTable::new(),
            queue: S3Fifo::new(),
            flights: HashTable::new(),
            labels: Labels::default(),
            notes: Notes::new(note_sets),
            counts: Counts::default(),
            scratch: Vec::new(),
        }
    }

    pub(crate) fn find(&self, key: KeyRef<'_>) -> Option<u32> {
        let is_it = |&index: &u32| self.queue.at(index).is_some_and(|e| e.is_of(key));
        self.table.find(key.table_hash(), is_it).copied()
    }

    /// The entry of a key of which only the hash is known.
    pub(crate) fn find_hash(&self, hash: u128) -> Option<u32> {
        // Half of it is enough: whoever is taken for another is looked up again by key, or leaves memory and is read again.
        let is_it = |&index: &u32| self.queue.at(index).is_some_and(|e| e.hash == hash as u64);
        self.table.find(hash as u64, is_it).copied()
    }

    pub(crate) fn entry(&self, key: KeyRef<'_>) -> Option<&Entry<M>> {
        self.queue.at(self.find(key)?)
    }

    /// The entry of `key` and the position of the object that answers this request.
    pub(crate) fn lookup(
        &mut self,
        key: KeyRef<'_>,
        variant: &impl Fn(&[u8], &mut Vec<u8>),
    ) -> Option<(u32, usize)> {
        let index = self.find(key)?;
        let position = self.queue.at(index)?.select(variant, &mut self.scratch)?;
        Some((index, position))
    }

    /// As [`Self::lookup`], where bans may cover what is found: that is taken out then, and returned to be dropped.
    #[inline]
    pub(crate) fn lookup_unbanned(
        &mut self,
        key: KeyRef<'_>,
        variant: &impl Fn(&[u8], &mut Vec<u8>),
        bans: &Bans<M>,
    ) -> (Option<(u32, usize)>, Option<Taken<M>>) {
        let Some(found) = self.lookup(key, variant) else { return (None, None) };
        let object = self.queue.at(found.0).map(|entry| &entry.objects[found.1]);
        match object {
            Some(object) if bans.any_since(object.asked_by()) && bans.judge(object) == Verdict::Goes => {
                (None, self.take(found.0, found.1))
            }
            _ => (Some(found), None),
        }
    }

    /// Takes one object out of an entry, and the entry with its last one.
    pub(crate) fn take(&mut self, index: u32, position: usize) -> Option<Taken<M>> {
        let entry = self.queue.at_mut(index)?;
        self.counts.purged += 1;
        if entry.objects.len() == 1 {
            return self.remove(index).map(Taken::Entry);
        }
        let object = entry.objects.swap_remove(position);
        self.counts.objects -= 1;
        self.relabel(index, &[Arc::clone(&object)]);
        Some(Taken::Object(object))
    }

    /// Makes the labels of an entry those of its objects, after `gone` have left it.
    pub(crate) fn relabel(&mut self, index: u32, gone: &[Arc<Object<M>>]) {
        let labels = &mut self.labels;
        for object in gone {
            object.meta().labels(&mut |label| labels.remove(label, index));
        }
        let Some(entry) = self.queue.at(index) else { return };
        for object in &entry.objects {
            object.meta().labels(&mut |label| labels.insert(label, index));
        }
    }

    /// Counts a hit on what [`Self::lookup`] found.
    pub(crate) fn hit(&mut self, (index, position): (u32, usize), now: u64) -> Option<Arc<Object<M>>> {
        let entry = self.queue.hit(index)?;
        entry.last_used = moment(now);
        let object = &entry.objects[position];
        object.count_hit(now);
        self.counts.hits += 1;
        Some(Arc::clone(object))
    }

    /// Enters a key that is not in the table.
    pub(crate) fn insert(&mut self, entry: Entry<M>) {
        let hash = entry.hash;
        self.counts.objects += entry.objects.len();
        let index = self.queue.insert(entry, hash);
        let queue = &self.queue;
        let rehash = |&i: &u32| queue.at(i).map_or(0, |e| e.hash);
        self.table.insert_unique(hash, index, rehash);
        self.relabel(index, &[]);
    }

    /// Takes out the entry that should leave next.
    pub(crate) fn evict(&mut self) -> Option<Entry<M>> {
        let index = self.queue.victim(|entry| entry.weight() as u64)?;
        let hash = self.queue.at(index)?.hash;
        self.queue.remember(index, hash);
        let evicted = self.remove(index);
        self.counts.evictions += u64::from(evicted.is_some());
        evicted
    }

    pub(crate) fn remove(&mut self, index: u32) -> Option<Entry<M>> {
        let entry = self.queue.remove(index)?;
        if let Ok(found) = self.table.find_entry(entry.hash, |&i| i == index) {
            found.remove();
        }
        self.counts.objects -= entry.objects.len();
        let labels = &mut self.labels;
        for object in &entry.objects {
            object.meta().labels(&mut |label| labels.remove(label, index));
        }
        Some(entry)
    }

    pub(crate) fn add_flight(&mut self, record: Record<M>) {
        let hash = |r: &Record<M>| r.flight.key.as_ref().table_hash();
        self.flights.insert_unique(hash(&record), record, hash);
    }

    pub(crate) fn flight_mut(&mut self, flight: &Arc<Flight<M>>) -> Option<&mut Record<M>> {
        self.flights.find_mut(flight.key.as_ref().table_hash(), |r| Arc::ptr_eq(&r.flight, flight))
    }

    /// Takes a flight out; `None` if it was out already.
    pub(crate) fn remove_flight(&mut self, flight: &Arc<Flight<M>>) -> Option<Record<M>> {
        let hash = flight.key.as_ref().table_hash();
        let found = self.flights.find_entry(hash, |r| Arc::ptr_eq(&r.flight, flight)).ok()?;
        Some(found.remove().0)
    }

    /// The flights of `key`, whatever their role.
    pub(crate) fn flights_of(&mut self, key: KeyRef<'_>) -> impl Iterator<Item = &mut Record<M>> {
        self.flights.iter_hash_mut(key.table_hash()).filter(move |r| r.flight.key.matches(key))
    }
}
