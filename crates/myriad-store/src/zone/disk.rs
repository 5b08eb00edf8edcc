//! The zone's side of its disk tier.

use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::claim::Departure;
use super::purges::oldest_flight;
use super::{Inner, Zone};
use crate::disk::{
    DiskLimits, DiskOptions, DiskPool, DiskStats, Filed, MemoryPurges, MemoryTier, Name, Spill, Tier, secret,
    variant_hash,
};
use crate::flight::{Abort, Lead, Phase};
use crate::key::Hashed;
use crate::purge::{self, Book, Exact, Softened, Verdict};
use crate::shard::{Entry, Role, Shard};
use crate::{FlightReader, KeyRef, Metadata, Object, Persist, Purge};

/// The part of memory that pages may fill before anybody has asked for them.
const WARM_PART: usize = 2;

/// A file in which the page for a request may be. Two are equal where they are the same file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sought(Name);

impl<M: Persist> Zone<M> {
    /// Opens the disk tier, once in the life of a zone and before it holds anything. Returns without waiting for the files to be
    /// found: they are used from the first look-up on. A folder that cannot be used is tried again from time to time.
    pub fn open_disk(&self, options: DiskOptions, pool: &DiskPool) {
        let mut options = Some(options);
        let tier = self.inner.disk.get_or_init(|| {
            let above: Weak<Inner<M>> = Arc::downgrade(&self.inner);
            let options = options.take().unwrap_or_else(|| unreachable!("made once"));
            let seed = secret::take(&options.path, self.inner.seed());
            self.inner.take_seed(seed);
            Arc::new(Tier::new(options, seed, pool, above))
        });
        if options.is_none() {
            self.inner.bans.serve_disk();
            tier.keeper.begin();
            let keeper: Weak<dyn crate::disk::Tend> = Arc::downgrade(&tier.keeper) as Weak<_>;
            pool.keep(keeper);
        }
    }
}

impl<M: Metadata> Zone<M> {
    #[inline]
    pub(crate) fn disk(&self) -> Option<&Arc<Tier<M>>> {
        self.inner.disk.get()
    }

    /// Changes what may change of the disk tier, as a reload may.
    pub fn limit_disk(&self, limits: DiskLimits) {
        if let Some(disk) = self.disk() {
            *disk.shelf.limits.write() = limits;
            disk.shelf.pool.rouse();
        }
    }

    /// Figures of the disk tier, if there is one.
    pub fn disk_stats(&self) -> Option<DiskStats> {
        Some(self.disk()?.shelf.stats())
    }

    /// Waits until what is stored is written, for so long at most, and notes what is there for the next start. Nothing
    /// is written any more after this.
    pub fn close_disk(&self, patience: Duration) {
        if let Some(disk) = self.disk() {
            disk.shelf.pool.rouse();
            self.write_changed_until(u64::MAX);
            disk.close(patience);
        }
    }

    /// In which file the page that memory did not have may be. Once every file is known, a key that has none costs one
    /// probe of a table; before, `Some`.
    pub fn seek(&self, key: KeyRef<'_>, variant: impl Fn(&[u8], &mut Vec<u8>)) -> Option<Sought> {
        self.disk()?.seek(self.key(key), &variant).map(Sought)
    }

    /// Has the file read into memory. Whoever waits for the end ([`FlightReader::poll_end`], whatever it says) looks the
    /// page up again, then seeks again: the file may have said in which other one the variant is. `None` where the disk
    /// has too much to do. All who want one key at once share one read.
    pub fn load(&self, key: KeyRef<'_>, sought: Sought, now: u64) -> Option<FlightReader<M>> {
        let (disk, key) = (self.disk()?, self.key(key));
        let flight = {
            let mut shard = self.shard(key);
            if let Some(record) = shard.flights_of(key).find(|record| record.role == Role::Loading) {
                return Some(FlightReader::join(&record.flight, true));
            }
            self.take_off(&mut shard, key, Departure::load(now))
        };
        let reader = flight.reader();
        let most_in_memory = self.limits().max_object_bytes;
        let (zone, tier, lead) = (self.clone(), Arc::clone(disk), flight.into_lead());
        disk.on_reader(move || zone.load_now(&tier, sought.0, most_in_memory, now, lead)).then_some(reader)
    }

    /// Has a page read into memory that nobody asked for; false where the queue is full.
    fn warm(&self, disk: &Arc<Tier<M>>, name: Name, now: u64) -> bool {
        let (zone, tier) = (self.clone(), Arc::clone(disk));
        disk.on_reader(move || {
            // The key is in the file; it is read again once a purge of the key would be noticed.
            let Some(key) = tier.key_in(name) else { return };
            if let Some(lead) = zone.lead_of_load(tier.shelf.files.seed.hashed(&key), now) {
                zone.load_now(&tier, name, zone.limits().max_object_bytes, now, lead);
            }
        })
    }

    fn load_now(&self, disk: &Tier<M>, name: Name, most_in_memory: u64, now: u64, mut lead: Lead<M>) {
        let object = disk.read_object(name, most_in_memory, now, lead.flight.key.as_ref());
        if let Some(object) = object.filter(|object| self.passes(disk, name, object, true)) {
            // A purge, a newer page or want of room: then it is not stored, and whoever waits looks again.
            let _ = lead.store_loaded(&object);
        } else {
            lead.finish(Phase::Aborted(Abort::Dropped), None);
        }
    }

    /// Whether purges leave a page that is in a file; what they say of it is done to the file. `count` says whether it was
    /// there for them to count.
    pub(super) fn passes(&self, disk: &Tier<M>, name: Name, object: &Object<M>, count: bool) -> bool {
        let counted = disk.counted_upto(name);
        let judged = self.judge_filed(object, count.then_some(counted));
        judged.is_none_or(|(verdict, number)| disk.obey(name, object, verdict, number))
    }

    /// The lead of a load that nobody waits for; `None` where the key is being loaded already.
    fn lead_of_load(&self, key: Hashed<'_>, now: u64) -> Option<Lead<M>> {
        let mut shard = self.shard(key);
        let is_loading = shard.flights_of(key).any(|record| record.role == Role::Loading);
        (!is_loading).then(|| self.take_off(&mut shard, key, Departure::load(now)).into_lead())
    }

    /// Drops a page whose file turned out to be gone; whether it was there.
    pub fn forget(&self, page: &Object<M>) {
        let key = self.key_of(page);
        let removed = {
            let mut shard = self.shard(key);
            let is_it = shard.entry(key).is_some_and(|e| e.objects.iter().any(|o| o.is_same(page)));
            let index = if is_it { shard.find(key) } else { None };
            index.and_then(|index| shard.remove(index))
        };
        if let Some(entry) = removed {
            self.release_entry(entry);
        }
    }

    /// Drops a page that memory read from its former file while a later one was on its way there.
    fn forget_older(&self, page: &Object<M>) {
        let key = self.key_of(page);
        let taken = {
            let mut shard = self.shard(key);
            let is_older = |object: &Object<M>| {
                object.generation() < page.generation() && object.selection() == page.selection()
            };
            let index = shard.find(key);
            let position = index.and_then(|index| shard.queue.at(index)?.objects.iter().position(is_older));
            index.zip(position).and_then(|(index, position)| shard.take(index, position))
        };
        if let Some(taken) = taken {
            self.drop_taken(taken);
        }
    }

    /// Has a stored object written.
    pub(crate) fn write(&self, object: &Object<M>) {
        self.write_if(object, || self.holds(object));
    }

    /// Has an object written, unless `is_stored` says, once the write has begun, that a purge has come before it.
    pub(crate) fn write_if(&self, object: &Object<M>, is_stored: impl Fn() -> bool) {
        let Some(disk) = self.disk() else { return };
        let zone = self.clone();
        disk.write(object, is_stored, move |disk, name, object| {
            // A purge that did not find it, neither in memory nor in the catalogue, is asked about it now.
            zone.passes(disk, name, object, false);
            zone.forget_older(object);
        });
    }

    pub(super) fn note_changed(&self, object: &Object<M>) {
        if let Some(disk) = self.disk() {
            disk.note_changed(object, disk.shelf.health.now());
        }
    }

    /// Tells the disk of the hits on what memory has no more room for.
    pub(super) fn note_evicted(&self, entry: &Entry<M>) {
        // What was stored and never asked for again must not look hot.
        if let Some(disk) = self.disk()
            && entry.objects.iter().any(|object| object.hits() > 0)
        {
            let used_s = (entry.last_used() / 1000) as u32;
            disk.shelf.catalogue.lock().touch_key(entry.key(self.inner.seed()).hash(), used_s);
        }
    }

    fn holds(&self, object: &Object<M>) -> bool {
        let key = self.key_of(object);
        let shard = self.shard(key);
        shard.entry(key).is_some_and(|e| e.objects.iter().any(|other| other.is_same(object)))
    }

    /// A way to disk for a body of at least `len` bytes.
    pub(crate) fn begin_spill(&self, len: u64) -> Option<Spill> {
        let shelf = &self.disk()?.shelf;
        let fits = shelf.may_write() && shelf.health.has_begun() && len <= shelf.most_of_one();
        fits.then(|| Spill::new(shelf))
    }

    fn write_backlog(&self) -> bool {
        let Some(disk) = self.disk() else { return false };
        let late = disk.take_backlog();
        for hash in &late {
            let objects = {
                let shard = self.inner.shard_of(*hash).lock();
                let entry = shard.find_hash(*hash).and_then(|slot| shard.queue.at(slot));
                entry.map(|entry| entry.objects.clone())
            };
            let Some(objects) = objects else {
                disk.miss_turn(*hash);
                continue;
            };
            let unwritten = objects.iter().filter(|object| !disk.has_file_of(object));
            unwritten.for_each(|object| self.write(object));
        }
        !late.is_empty()
    }

    fn write_changed_until(&self, now: u64) {
        let Some(disk) = self.disk() else { return };
        for (hash, generation) in disk.take_changed(now) {
            let object = {
                let shard = self.inner.shard_of(hash).lock();
                let entry = shard.find_hash(hash).and_then(|slot| shard.queue.at(slot));
                entry.and_then(|entry| entry.objects.iter().find(|o| o.generation() == generation).cloned())
            };
            if let Some(object) = object {
                self.write(&object);
            }
        }
    }
}

impl<M: Metadata> MemoryPurges for Inner<M> {
    fn begin_purges(&self, book: &Book, is_lost: bool) -> Vec<purge::Entry> {
        self.bans.begin(&self.sequence, book, is_lost)
    }

    fn adopt_purges(&self, news: &Book) -> Book {
        self.bans.adopt(&self.sequence, news)
    }

    fn take_exact(self: Arc<Self>, exact: &Exact) {
        Zone::of(&self).take_exact(exact);
    }

    fn note_found(&self, key: Option<u128>, labels: &[u64], purge: Purge, count: usize) {
        self.bans.note_found(key, labels, purge, count);
    }

    fn end_count(&self, exact: &Exact) -> usize {
        self.bans.end_count(exact)
    }

    fn take_softened(&self) -> Vec<Softened> {
        self.bans.take_softened()
    }

    fn judge_marks(&self, since: u64, key: u128, labels: &[u64]) -> Verdict {
        if self.bans.any_since(since) { self.bans.judge_marks(since, key, labels) } else { Verdict::Stays }
    }

    fn holds_newer(&self, filed: &Filed) -> bool {
        let key = filed.key_hash();
        let shard = self.shard_of(key).lock();
        let entry = shard.find_hash(key).and_then(|slot| shard.queue.at(slot));
        entry.is_some_and(|entry| {
            let mut newer = entry.objects.iter().filter(|object| object.generation() > filed.generation);
            newer.any(|object| {
                let variant = object.selection().map(|selection| &*selection.variant);
                variant_hash(variant) as u32 == filed.variant
            })
        })
    }

    fn ask_file(&self, filed: &Filed, since: u64, count: Option<u64>) -> (Verdict, u64) {
        if let Some(judged) = self.bans.judge_any(since, count) {
            return judged;
        }
        let mut newest = since;
        let Some(disk) = self.disk.get() else { return (Verdict::Stays, newest) };
        let verdict = disk.ask_file(filed, |key, meta| {
            let (verdict, number) = self.bans.judge_stored(since, key, meta, count);
            newest = number;
            verdict
        });
        (verdict, newest)
    }

    fn is_counting(&self) -> bool {
        self.bans.is_counting()
    }

    fn newest_rule(&self) -> u64 {
        self.bans.newest_test()
    }

    fn newest_rule_before(&self, number: u64) -> u64 {
        self.bans.newest_test_before(number)
    }

    fn asked_in_memory(&self) -> u64 {
        self.swept_bans.load(SeqCst)
    }

    fn oldest_flight(&self) -> u64 {
        oldest_flight(self)
    }

    fn is_crowded(&self) -> bool {
        self.bans.is_crowded()
    }

    fn let_fetches_go(&self, number: u64) {
        self.let_fetches_go(number);
    }
}

impl<M: Metadata> Inner<M> {
    /// Drops a key's entry, after something that is done under the same lock.
    fn take_out(self: Arc<Self>, hash: u128, first: impl FnOnce(&mut Shard<M>)) {
        let removed = {
            let mut shard = self.shard_of(hash).lock();
            first(&mut shard);
            shard.find_hash(hash).and_then(|index| shard.remove(index))
        };
        if let Some(entry) = removed {
            Zone::of(&self).release_entry(entry);
        }
    }
}

impl<M: Metadata> MemoryTier for Inner<M> {
    fn last_used(&self, hash: u128) -> Option<u64> {
        let shard = self.shard_of(hash).lock();
        shard.queue.at(shard.find_hash(hash)?).map(crate::shard::Entry::last_used)
    }

    fn max_variants(&self) -> usize {
        self.limits.read().max_variants.max(1)
    }

    fn variants_used(&self, hash: u128) -> Vec<(u32, u32)> {
        let shard = self.shard_of(hash).lock();
        let entry = shard.find_hash(hash).and_then(|slot| shard.queue.at(slot));
        let objects = entry.into_iter().flat_map(|entry| entry.objects.iter());
        let used = objects.map(|object| {
            let variant = object.selection().map(|selection| &*selection.variant);
            (variant_hash(variant) as u32, object.last_used_s())
        });
        used.collect()
    }

    fn forget(self: Arc<Self>, hash: u128) {
        self.take_out(hash, |_| ());
    }

    fn remove(self: Arc<Self>, hash: u128) {
        self.take_out(hash, |shard| shard.forget_flights(hash));
    }

    fn forget_all(self: Arc<Self>) {
        Zone::of(&self).clear_memory();
    }

    fn inactive_ms(&self) -> u64 {
        self.limits.read().inactive_ms
    }

    fn write_changed(self: Arc<Self>, now: u64) {
        Zone::of(&self).write_changed_until(now);
    }

    fn write_backlog(self: Arc<Self>) -> bool {
        Zone::of(&self).write_backlog()
    }

    fn warm(self: Arc<Self>, name: Name, hash: u128, now: u64) -> bool {
        if self.ledger.used() > self.ledger.limit() / WARM_PART {
            return false;
        }
        let Some(disk) = self.disk.get() else { return false };
        self.last_used(hash).is_some() || Zone::of(&self).warm(disk, name, now)
    }

    fn sequence(&self) -> u64 {
        self.sequence.load(Relaxed)
    }

    fn sequence_at_least(&self, least: u64) {
        self.sequence.fetch_max(least, Relaxed);
    }
}
