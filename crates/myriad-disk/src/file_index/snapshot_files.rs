//! File-index operations for snapshots: entries are restored at start, and later confirmed by the files themselves.

use crate::index::{EvictionPosition, FileName};

use super::{FileIndex, FileRole, IndexedFile};
use crate::file_labels::mark_of;

impl FileIndex {
    /// Returns the files with their positions in the eviction queue: the queue of new files, then the main queue, each
    /// oldest first.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = (&IndexedFile, EvictionPosition)> {
        self.queue.in_order()
    }

    /// Sorts the eviction queue by last use, because the search at startup added the files in another order.
    pub(crate) fn sort_by_use(&mut self) {
        self.queue.sort_by_key(|filed| filed.used_s);
    }

    /// Sets the last use of every file to `now_s`. Called after a restart: the duration of the stop is unknown, and
    /// times of another clock may be in the future.
    pub(crate) fn set_all_used(&mut self, now_s: u32) {
        for slot in 0..self.queue.slots() {
            if let Some(filed) = self.queue.at_mut(slot) {
                filed.used_s = now_s;
            }
        }
    }

    /// Records that a file was found in the folder. Returns false if its header must be read, because the file is not
    /// in the index, or its generation and labels are uncertain.
    pub(crate) fn mark_seen(&mut self, name: FileName) -> bool {
        let Some(slot) = self.find(name) else { return false };
        self.queue.at_mut(slot).is_some_and(|filed| {
            filed.was_seen = true;
            filed.is_trusted
        })
    }

    /// Adds a file of a snapshot at its position in the eviction queue, unless its name is already in the index or
    /// doomed.
    pub(crate) fn restore(&mut self, filed: IndexedFile, standing: EvictionPosition) {
        if self.find(filed.name).is_some() || self.is_doomed(filed.name) {
            return;
        }
        self.take_blocks(filed.blocks);
        self.insert_with(filed, &[], Some(standing));
    }

    /// Adds a label from a snapshot (hash of a URL or tag) to the file whose name has the hash `name`. Has no effect if
    /// the index has no such file, or the file has already been found in the folder.
    pub(crate) fn restore_label(&mut self, label: u64, name: u64) {
        let is_it = |&slot: &u32| self.queue.at(slot).is_some_and(|filed| filed.name.table_hash() == name);
        let slot = self.by_name.find(name, is_it).copied();
        // A file found in the folder before this may contain another page, with other labels.
        if let Some((slot, filed)) = slot.and_then(|slot| Some((slot, self.queue.at(slot)?)))
            && !filed.was_seen
        {
            self.labels.insert(label, slot, filed.generation);
        }
    }

    /// Returns all labels of current files as pairs of label and [`FileName::table_hash`].
    pub(crate) fn all_labels(&self) -> Vec<(u64, u64)> {
        let name = |slot: u32, low: u32| {
            let filed = self.queue.at(slot).filter(|filed| mark_of(filed.generation) == low);
            filed.map(|filed| filed.name.table_hash())
        };
        let live = self.labels.iter().filter_map(|(label, slot, low)| Some((label, name(slot, low)?)));
        live.collect()
    }

    /// Records that the search at startup has read the whole folder. Entries that are known only from a snapshot, or
    /// not trusted, are removed. Marker files of keys without variants are marked as removed.
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
