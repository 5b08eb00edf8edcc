//! Removal of objects from a cache zone: those of a key, or all.
//!
//! Objects and flights are changed under the same lock: the result of a fetch that began before the removal is not
//! stored, and later claims do not join it.

use super::Zone;
use crate::removed_keys::RemovalReason;
use crate::shard::{FlightRole, Shard};
use crate::{KeyRef, Metadata, Object};

impl<M: Metadata> Zone<M> {
    /// Removes all variants of `key`, in memory and on disk, and returns the approximate number of removed objects.
    /// Results of fetches in progress are not stored; their waiters still receive them.
    pub fn remove(&self, key: KeyRef<'_>) -> usize {
        let key = self.key(key);
        let removed = {
            let mut shard = self.shard(key);
            shard.flights_of_key(key).for_each(|record| record.role = FlightRole::Purged);
            shard.notes.clear_pass(key.table_hash());
            let removed = shard.find(key).and_then(|index| shard.remove(index));
            shard.counts.purged += removed.as_ref().map_or(0, |entry| entry.objects.len() as u64);
            removed
        };
        // The disk tier comes after memory and flights, so that pages that are being written are recognised as purged.
        let on_disk = self.tier().map_or(0, |tier| tier.disk.remove(key));
        let Some(entry) = removed else { return on_disk };
        let count = entry.objects.len();
        self.note_removal(&entry, RemovalReason::Purged);
        self.release_entry(entry);
        count.max(on_disk)
    }

    /// Removes the variants of `key` whose fetch began before number `generation`, in memory and on disk, and returns
    /// the approximate number of removed objects. Fetches in progress that began before this number, and all reads of
    /// the key from disk in progress, are not stored. Later objects remain.
    pub fn remove_older(&self, key: KeyRef<'_>, generation: u64) -> usize {
        let key = self.key(key);
        let (taken, is_overtaken) = {
            let mut shard = self.shard(key);
            for record in shard.flights_of_key(key) {
                // A file that is being read contains an earlier fetch, whatever the number of the flight that reads it.
                if record.flight.generation < generation || record.role == FlightRole::Loading {
                    record.role = FlightRole::Purged;
                }
            }
            let mut taken = Vec::new();
            let is_older = |object: &Object<M>| object.generation() < generation;
            while let Some(index) = shard.find(key)
                && let Some(entry) = shard.queue.at(index)
                && let Some(position) = entry.objects.iter().position(is_older)
            {
                taken.extend(shard.purge(index, position));
            }
            (taken, shard.entry(key).is_some())
        };
        let in_memory = taken.len();
        // The disk tier comes after memory and flights, as in `remove`.
        for object in taken {
            self.release_taken(Some(object));
        }
        let on_disk = self.tier().map_or(0, |tier| tier.disk.remove_older(key, generation, is_overtaken));
        in_memory.max(on_disk)
    }

    /// Removes all objects, in memory and on disk, and returns their approximate number. Results of fetches in progress
    /// are not stored. The shards are cleared one after another.
    pub fn clear(&self) -> usize {
        // Pages with lower numbers that the recovery finds later were stored before this call, and are ignored.
        let sequence = self.inner.sequence.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let in_memory = self.clear_memory();
        // Objects may be both in memory and on disk, so the larger number is the better estimate.
        in_memory.max(self.tier().map_or(0, |tier| tier.disk.clear(sequence)))
    }

    /// Removes all objects from memory and returns their number. Results of fetches in progress are not stored.
    pub(super) fn clear_memory(&self) -> usize {
        let mut count = 0;
        for shard in &self.inner.shards {
            // Flights are excluded first and only once: those that begin during the removal are newer than the purge.
            shard.lock().forget_arriving();
            let last = shard.lock().queue.slots();
            for slot in 0..last {
                let Some(entry) = shard.lock().purge_slot(slot) else { continue };
                count += entry.objects.len();
                self.note_removal(&entry, RemovalReason::Purged);
                self.release_entry(entry);
            }
        }
        count
    }
}

impl<M: Metadata> Shard<M> {
    fn forget_arriving(&mut self) {
        self.flights.iter_mut().for_each(|record| record.role = FlightRole::Purged);
        self.notes.clear();
    }

    fn purge_slot(&mut self, slot: u32) -> Option<crate::shard::KeyEntry<M>> {
        let entry = self.remove(slot)?;
        self.counts.purged += entry.objects.len() as u64;
        Some(entry)
    }
}
