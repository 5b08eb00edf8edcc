//! Removal of objects by key, and of all objects.
//!
//! Stored objects and flights are changed under the same lock: a fetch that began before the removal is not stored, and
//! a later claim does not wait for it.

use super::Zone;
use crate::removed_keys::RemovalReason;
use crate::shard::{FlightRole, Shard};
use crate::{KeyRef, Metadata, Object};

impl<M: Metadata> Zone<M> {
    /// Removes all variants of `key` and returns the number of removed objects. Fetches of the key in progress are not
    /// stored; their waiters still receive the pages.
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
        // After memory and flights, so that pages being written to disk are found to be purged.
        let on_disk = self.tier().map_or(0, |tier| tier.disk.remove(key));
        let Some(entry) = removed else { return on_disk };
        let count = entry.objects.len();
        self.note_removal(&entry, RemovalReason::Purged);
        self.release_entry(entry);
        count.max(on_disk)
    }

    /// Removes all variants of `key` whose fetch began before number `generation`, and returns the number of removed
    /// objects. Fetches of the key that began before it are not stored. Objects of later fetches remain.
    pub fn remove_older(&self, key: KeyRef<'_>, generation: u64) -> usize {
        let key = self.key(key);
        let (taken, is_overtaken) = {
            let mut shard = self.shard(key);
            for record in shard.flights_of_key(key) {
                // A file being read belongs to an earlier fetch, regardless of the number of its flight.
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
        // After memory and flights, as in `remove`.
        for object in taken {
            self.release_taken(Some(object));
        }
        let on_disk = self.tier().map_or(0, |tier| tier.disk.remove_older(key, generation, is_overtaken));
        in_memory.max(on_disk)
    }

    /// Removes all objects and returns their number. Fetches in progress are not stored. Shards are cleared one after
    /// another.
    pub fn clear(&self) -> usize {
        // A page with a lower number that a recovery finds later was stored before this call.
        let sequence = self.inner.sequence.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let in_memory = self.clear_memory();
        // An object may be in memory and on disk, so the larger count is the better estimate.
        in_memory.max(self.tier().map_or(0, |tier| tier.disk.clear(sequence)))
    }

    /// Removes all objects in memory. Fetches in progress are not stored.
    pub(super) fn clear_memory(&self) -> usize {
        let mut count = 0;
        for shard in &self.inner.shards {
            // The flights are closed first and once: those that begin during the removal are newer than the purge.
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
