//! Removal of pages from the disk tier of a zone.

use std::sync::atomic::Ordering::Relaxed;

use crate::index::{FileName, HashedKeyRef, PurgeVerdict};

use super::DiskStore;
use crate::file_index::{FileRole, IndexedFile};
use crate::format::variant_hash;
use crate::page::PageId;

impl DiskStore {
    /// Marks the files of a page that was purged from memory as removed, and cancels the pending write of the page's
    /// variant. A file that is known to contain a page of a later fetch remains; a file whose fetch is uncertain is
    /// marked.
    pub fn discard(&self, page: &PageId<'_>) {
        let bits = variant_hash(page.variant()) as u32;
        let mut file_index = self.file_store.file_index.lock();
        file_index.writes.cancel(page.hash, page.variant());
        let is_it = |filed: &&IndexedFile| filed.role != FileRole::Marker && filed.variant == bits;
        // Includes files of the variant that have an outdated family.
        let files: Vec<IndexedFile> = file_index.files_of_hash(page.hash).filter(is_it).copied().collect();
        for filed in &files {
            if !filed.is_trusted {
                file_index.doom_unknown(filed.name, page.hash);
            } else if filed.generation <= page.generation {
                file_index.doom(filed.name);
            }
        }
        // The file of a variant that a folder scan finds later is checked against the purge then.
        if files.is_empty() && !file_index.complete && page.selection.is_none() {
            file_index.doom_unknown(FileName::of_key(page.key), page.hash);
        }
    }

    /// Cancels the pending writes of a key, marks all its files as removed, and queues their deletion. Returns the
    /// number of pages in these files.
    pub fn remove(&self, key: HashedKeyRef<'_>) -> usize {
        let (count, doomed) = {
            let mut file_index = self.file_store.file_index.lock();
            (file_index.remove_key(key.bytes(), key.hash()), file_index.doomed() > 0)
        };
        if doomed {
            self.file_store.queue_doomed_removal();
        }
        count
    }

    /// Like [`Self::remove`], but retains pages whose fetch has the number `generation` or a higher one. `is_overtaken`
    /// must be true if the memory tier has such a page. If there is such a page in memory or on disk, pending writes of
    /// the key are not cancelled.
    pub fn remove_older(&self, key: HashedKeyRef<'_>, generation: u64, is_overtaken: bool) -> usize {
        let (older, is_overtaken) = {
            let file_index = self.file_store.file_index.lock();
            let mut files: Vec<IndexedFile> = file_index.files_of_hash(key.hash()).copied().collect();
            files.retain(|filed| filed.role != FileRole::Marker);
            let all = files.len();
            files.retain(|filed| filed.generation < generation);
            (files.clone(), is_overtaken || files.len() < all)
        };
        if !is_overtaken {
            return self.remove(key);
        }
        for filed in &older {
            self.file_store.apply_verdict(filed, PurgeVerdict::Removed, 0);
        }
        if !older.is_empty() {
            self.file_store.queue_doomed_removal();
        }
        older.len()
    }

    /// Cancels all pending writes, marks all files of the zone as removed, and queues their deletion. Returns the
    /// number of pages in these files. Files that the search at startup has not found yet are removed when they are
    /// found, if the number of their fetch is below `sequence`.
    pub fn clear(&self, sequence: u64) -> usize {
        self.file_store.files.barrier.fetch_max(sequence, Relaxed);
        let count = self.file_store.file_index.lock().remove_all();
        self.file_store.queue_doomed_removal();
        count
    }
}
