//! Operations of a cache zone on its disk tier.

use std::sync::{Arc, Weak};
use std::time::Duration;

use myriad_disk::index::{FileName, HashedKeyRef};
use myriad_disk::{DiskLimits, DiskOptions, DiskPool, DiskStats, DiskStore, SpillWriter};

use super::claim::NewFlight;
use super::{Inner, Zone};
use crate::disk::DiskTier;
use crate::flight::{Abort, FlightLead, Phase};
use crate::shard::{FlightRole, KeyEntry};
use crate::{FlightReader, KeyRef, Metadata, Object, Persist};

/// File that may contain the page for a request. Values are equal if they refer to the same file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFile(FileName);

impl<M: Persist> Zone<M> {
    /// Opens the disk tier. Must be called before an object is stored; later calls have no effect.
    ///
    /// Returns before the files of the folder are found; look-ups can use the files nevertheless. A folder that cannot
    /// be used is retried periodically.
    pub fn open_disk(&self, options: DiskOptions, pool: &DiskPool) {
        let mut options = Some(options);
        let tier = self.inner.tier.get_or_init(|| {
            let memory: Weak<Inner<M>> = Arc::downgrade(&self.inner);
            let options = options.take().unwrap_or_else(|| unreachable!("made once"));
            let seed = DiskStore::folder_seed(&options.path, self.inner.seed());
            self.inner.set_seed(seed);
            Arc::new(DiskTier::new(options, seed, pool, memory))
        });
        if options.is_none() {
            self.inner.purges.record_softened();
            tier.disk.begin();
        }
    }
}

impl<M: Metadata> Zone<M> {
    #[inline]
    pub(crate) fn tier(&self) -> Option<&Arc<DiskTier<M>>> {
        self.inner.tier.get()
    }

    /// Changes the limits of disk space and files of the disk tier, if there is one.
    pub fn limit_disk(&self, limits: DiskLimits) {
        if let Some(tier) = self.tier() {
            tier.disk.set_limits(limits);
        }
    }

    /// Returns the statistics of the disk tier; `None` if there is none.
    pub fn disk_stats(&self) -> Option<DiskStats> {
        Some(self.tier()?.disk.stats())
    }

    /// Shuts the disk tier down: waits up to twice `patience` until stored pages are written, and writes the snapshot
    /// of the file index for the next start, unless another process has taken the writer lease. Nothing is written
    /// after this.
    pub fn close_disk(&self, patience: Duration) {
        if let Some(tier) = self.tier() {
            tier.disk.wake_maintenance();
            self.write_changed_until(u64::MAX);
            tier.disk.close(patience);
        }
    }

    /// Returns the file that may contain a page which is not in memory; `None` if no file can, or the zone has no disk
    /// tier.
    ///
    /// Until the recovery has found all files, any key may have a file. After that, the result for a key without a file
    /// costs one table look-up.
    pub fn seek(&self, key: KeyRef<'_>, variant: impl Fn(&[u8], &mut Vec<u8>)) -> Option<PageFile> {
        self.tier()?.disk.seek(self.key(key), &variant).map(PageFile)
    }

    /// Reads a page file into memory on a disk thread. Concurrent requests for a key share one read.
    ///
    /// After any result of [`FlightReader::poll_end`], the caller must look the key up again, and then call
    /// [`Self::seek`] again: a marker file may have led to the file of a variant. Returns `None` if the read queue is
    /// full, or the zone has no disk tier.
    pub fn load(&self, key: KeyRef<'_>, file: PageFile, now: u64) -> Option<FlightReader<M>> {
        let (tier, key) = (self.tier()?, self.key(key));
        let flight = {
            let mut shard = self.shard(key);
            if let Some(record) = shard.flights_of_key(key).find(|record| record.role == FlightRole::Loading)
            {
                return Some(FlightReader::join(&record.flight, true));
            }
            self.begin_flight(&mut shard, key, NewFlight::load(now))
        };
        let reader = flight.reader();
        let most_in_memory = self.limits().max_object_bytes;
        let (zone, of_job, lead) = (self.clone(), Arc::clone(tier), flight.into_lead());
        let job = move || zone.load_now(&of_job, file.0, most_in_memory, now, lead);
        tier.disk.on_reader(job).then_some(reader)
    }

    /// Queues the reading of a page into memory, without a request for it. Returns false if the read queue is full.
    pub(super) fn warm(&self, tier: &Arc<DiskTier<M>>, name: FileName, now: u64) -> bool {
        let (zone, of_job) = (self.clone(), Arc::clone(tier));
        tier.disk.on_reader(move || {
            // Only the file contains the key. The file is read again once the flight exists, so that a purge of the key
            // in between is noticed.
            let Some(key) = of_job.disk.key_in(name) else { return };
            if let Some(lead) = zone.begin_load(of_job.disk.seed().hashed(&key), now) {
                zone.load_now(&of_job, name, zone.limits().max_object_bytes, now, lead);
            }
        })
    }

    fn load_now(
        &self,
        tier: &DiskTier<M>,
        name: FileName,
        most_in_memory: u64,
        now: u64,
        mut lead: FlightLead<M>,
    ) {
        let object = tier.read_object(name, most_in_memory, now, lead.flight.key.as_ref());
        if let Some(object) = object.filter(|object| self.survives_purges(tier, name, object, true)) {
            // Storing fails after a purge, if a newer page is stored, or if memory is short; the waiters look up again.
            let _ = lead.store_loaded(&object);
        } else {
            lead.finish(Phase::Aborted(Abort::Dropped), None);
        }
    }

    /// Applies the purges since the fetch of a page to its file: marks the page as stale or removes the file if a purge
    /// requires it. Returns false if the page is removed. With `count`, each purge that has not counted the file before
    /// counts the page, because the file existed before the purge.
    pub(super) fn survives_purges(
        &self,
        tier: &DiskTier<M>,
        name: FileName,
        object: &Object<M>,
        count: bool,
    ) -> bool {
        let counted = tier.disk.counted_upto(name);
        let judged = self.judge_filed(object, count.then_some(counted));
        judged.is_none_or(|(verdict, number)| tier.apply_verdict(name, object, verdict, number))
    }

    /// Starts to read a file for a key, without waiting requests; `None` if the key is already being read.
    fn begin_load(&self, key: HashedKeyRef<'_>, now: u64) -> Option<FlightLead<M>> {
        let mut shard = self.shard(key);
        let is_loading = shard.flights_of_key(key).any(|record| record.role == FlightRole::Loading);
        (!is_loading).then(|| self.begin_flight(&mut shard, key, NewFlight::load(now)).into_lead())
    }

    /// Removes the entry of a page, with all its variants, from memory, if the page is still stored, because its file
    /// turned out to be missing.
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

    /// Removes an older page of the same key and variant from memory, which was read from the former file while the new
    /// file of `page` was being written.
    fn forget_older(&self, page: &Object<M>) {
        let key = self.key_of(page);
        let taken = {
            let mut shard = self.shard(key);
            let is_older = |object: &Object<M>| {
                object.generation() < page.generation() && object.selection() == page.selection()
            };
            let index = shard.find(key);
            let position = index.and_then(|index| shard.queue.at(index)?.objects.iter().position(is_older));
            index.zip(position).and_then(|(index, position)| shard.remove_object(index, position))
        };
        if let Some(taken) = taken {
            self.drop_taken(taken);
        }
    }

    /// Queues the write of a stored object to disk, if the zone has a disk tier.
    pub(crate) fn write(&self, object: &Object<M>) {
        self.write_if(object, || self.holds(object));
    }

    /// Queues the write of an object to disk. `is_stored` is called once the write is registered; if it returns false,
    /// because of a purge, nothing is written.
    pub(crate) fn write_if(&self, object: &Object<M>, is_stored: impl Fn() -> bool) {
        let Some(tier) = self.tier() else { return };
        let zone = self.clone();
        tier.write(object, is_stored, move |tier, name, object| {
            // A purge may have found the page neither in memory nor in the file index, so the purges are applied to the
            // file now.
            zone.survives_purges(tier, name, object, false);
            zone.forget_older(object);
        });
    }

    pub(super) fn note_changed(&self, object: &Object<M>) {
        if let Some(tier) = self.tier() {
            tier.disk.note_changed(&tier.id(object), tier.disk.now());
        }
    }

    /// Passes the time of the last use of an entry evicted from memory to the disk tier, for its own eviction order.
    /// Does nothing if the entry had no hits.
    pub(super) fn note_evicted(&self, entry: &KeyEntry<M>) {
        // Pages without hits are excluded, so that they do not appear recently used.
        if let Some(tier) = self.tier()
            && entry.objects.iter().any(|object| object.hits() > 0)
        {
            let used_s = (entry.last_used() / 1000) as u32;
            tier.disk.touch_key(entry.key(self.inner.seed()).hash(), used_s);
        }
    }

    fn holds(&self, object: &Object<M>) -> bool {
        let key = self.key_of(object);
        let shard = self.shard(key);
        shard.entry(key).is_some_and(|e| e.objects.iter().any(|other| other.is_same(object)))
    }

    /// Returns a writer to disk for a body of at least `len` bytes; `None` if it cannot be written to disk.
    pub(crate) fn begin_spill(&self, len: u64) -> Option<SpillWriter> {
        self.tier()?.disk.begin_spill(len)
    }

    pub(super) fn write_backlog(&self) -> bool {
        let Some(tier) = self.tier() else { return false };
        let late = tier.disk.take_backlog();
        for hash in &late {
            let objects = {
                let shard = self.inner.shard_of(*hash).lock();
                let entry = shard.find_hash(*hash).and_then(|slot| shard.queue.at(slot));
                entry.map(|entry| entry.objects.clone())
            };
            let Some(objects) = objects else {
                tier.disk.note_backlog_dropped(*hash);
                continue;
            };
            let unwritten = objects.iter().filter(|object| !tier.disk.has_file_of(&tier.id(object)));
            unwritten.for_each(|object| self.write(object));
        }
        !late.is_empty()
    }

    pub(super) fn write_changed_until(&self, now: u64) {
        let Some(tier) = self.tier() else { return };
        for (hash, generation) in tier.disk.take_changed(now) {
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
