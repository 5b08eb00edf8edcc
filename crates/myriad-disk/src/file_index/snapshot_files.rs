//! Files of a snapshot, until they are seen.

use crate::index::{EvictionPosition, FileName};

use super::{FileIndex, FileRole, IndexedFile};
use crate::file_labels::mark_of;

impl FileIndex {
    /// Returns the files with their standing in the queue, next to evict first.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = (&IndexedFile, EvictionPosition)> {
        self.queue.in_order()
    }

    /// Sorts the files by their last use, which was unknown during the search for them.
    pub(crate) fn sort_by_use(&mut self) {
        self.queue.sort_by_key(|filed| filed.used_s);
    }

    /// Sets the time of the last use of every file, because the duration of the stop is unknown. Times of another clock
    /// may be in the future.
    pub(crate) fn set_all_used(&mut self, now_s: u32) {
        for slot in 0..self.queue.slots() {
            if let Some(filed) = self.queue.at_mut(slot) {
                filed.used_s = now_s;
            }
        }
    }

    /// Records that a file was seen. Returns false if it is unknown, or its generation and labels are uncertain.
    pub(crate) fn mark_seen(&mut self, name: FileName) -> bool {
        let Some(slot) = self.find(name) else { return false };
        self.queue.at_mut(slot).is_some_and(|filed| {
            filed.was_seen = true;
            filed.is_trusted
        })
    }

    /// Adds a file of a snapshot.
    pub(crate) fn restore(&mut self, filed: IndexedFile, standing: EvictionPosition) {
        if self.find(filed.name).is_some() || self.is_doomed(filed.name) {
            return;
        }
        self.take_blocks(filed.blocks);
        self.insert_with(filed, &[], Some(standing));
    }

    /// Adds a label of a snapshot, for the file whose name has these bits.
    pub(crate) fn restore_label(&mut self, label: u64, name: u64) {
        let is_it = |&slot: &u32| self.queue.at(slot).is_some_and(|filed| filed.name.table_hash() == name);
        let slot = self.by_name.find(name, is_it).copied();
        // A file written since then is another page with other labels.
        if let Some((slot, filed)) = slot.and_then(|slot| Some((slot, self.queue.at(slot)?)))
            && !filed.was_seen
        {
            self.labels.insert(label, slot, filed.generation);
        }
    }

    /// Returns all labels of files, each with bits of its file's name.
    pub(crate) fn all_labels(&self) -> Vec<(u64, u64)> {
        let name = |slot: u32, low: u32| {
            let filed = self.queue.at(slot).filter(|filed| mark_of(filed.generation) == low);
            filed.map(|filed| filed.name.table_hash())
        };
        let live = self.labels.iter().filter_map(|(label, slot, low)| Some((label, name(slot, low)?)));
        live.collect()
    }

    /// Records that all files have been seen: files known only from a snapshot are removed.
    pub(crate) fn complete(&mut self) {
        for slot in 0..self.queue.slots() {
            if let Some(filed) =
                self.queue.at(slot).filter(|filed| !filed.was_seen || !filed.is_trusted).copied()
            {
                self.forget(filed.name);
            }
        }
        for slot in 0..self.queue.slots() {
            if let Some(marker) = self.queue.at(slot).filter(|filed| filed.role == FileRole::Marker) {
                self.doom_idle_marker(marker.key_hash());
            }
        }
        self.complete = true;
    }
}
