//! Removal of pages.

use std::sync::atomic::Ordering::Relaxed;

use crate::index::{Hashed, Name, Verdict};

use super::Disk;
use crate::catalogue::{Filed, Role};
use crate::format::variant_hash;
use crate::page::PageId;

impl Disk {
    /// Removes the file of a page purged from memory, and cancels its write.
    pub fn discard(&self, page: &PageId<'_>) {
        let bits = variant_hash(page.variant()) as u32;
        let mut catalogue = self.shelf.catalogue.lock();
        catalogue.writes.cancel(page.hash, page.variant());
        let is_it = |filed: &&Filed| filed.role != Role::Marker && filed.variant == bits;
        // Including files of the variant in a former family.
        let files: Vec<Filed> = catalogue.of_hash(page.hash).filter(is_it).copied().collect();
        for filed in &files {
            if !filed.sure {
                catalogue.doom_unknown(filed.name, page.hash);
            } else if filed.generation <= page.generation {
                catalogue.doom(filed.name);
            }
        }
        // A walk that finds the file of a variant later checks it against the purge.
        if files.is_empty() && !catalogue.complete && page.selection.is_none() {
            catalogue.doom_unknown(Name::of_key(page.key), page.hash);
        }
    }

    /// Removes all files of a key soon. Returns the number of pages.
    pub fn remove(&self, key: Hashed<'_>) -> usize {
        let (count, doomed) = {
            let mut catalogue = self.shelf.catalogue.lock();
            (catalogue.remove_key(key.bytes(), key.hash()), catalogue.doomed() > 0)
        };
        if doomed {
            self.shelf.bury_soon();
        }
        count
    }

    /// Like [`Self::remove`], but retains files of fetches that began at `generation` or later. `is_overtaken` is set
    /// if memory has such a page.
    pub fn remove_older(&self, key: Hashed<'_>, generation: u64, is_overtaken: bool) -> usize {
        let (older, is_overtaken) = {
            let catalogue = self.shelf.catalogue.lock();
            let mut files: Vec<Filed> = catalogue.of_hash(key.hash()).copied().collect();
            files.retain(|filed| filed.role != Role::Marker);
            let all = files.len();
            files.retain(|filed| filed.generation < generation);
            (files.clone(), is_overtaken || files.len() < all)
        };
        if !is_overtaken {
            return self.remove(key);
        }
        for filed in &older {
            self.shelf.obey(filed, Verdict::Goes, 0);
        }
        if !older.is_empty() {
            self.shelf.bury_soon();
        }
        older.len()
    }

    /// Removes all files soon. Returns the number of pages. A file that a recovery has not found yet counts as removed
    /// if its fetch began before `sequence`.
    pub fn clear(&self, sequence: u64) -> usize {
        self.shelf.files.barrier.fetch_max(sequence, Relaxed);
        let count = self.shelf.catalogue.lock().remove_all();
        self.shelf.bury_soon();
        count
    }
}
