//! Removing pages.

use std::sync::atomic::Ordering::Relaxed;

use myriad_index::{Hashed, Name, Verdict};

use super::Disk;
use crate::catalogue::{Filed, Role};
use crate::format::variant_hash;
use crate::page::PageId;

impl Disk {
    /// A page in memory was purged: its file goes, and what is being written of it.
    pub fn discard(&self, page: &PageId<'_>) {
        let bits = variant_hash(page.variant()) as u32;
        let mut catalogue = self.shelf.catalogue.lock();
        catalogue.writes.cancel(page.hash, page.variant());
        let is_it = |filed: &&Filed| filed.role != Role::Marker && filed.variant == bits;
        // Files of the variant in a former family are among them.
        let files: Vec<Filed> = catalogue.of_hash(page.hash).filter(is_it).copied().collect();
        for filed in &files {
            if !filed.sure {
                catalogue.doom_unknown(filed.name, page.hash);
            } else if filed.generation <= page.generation {
                catalogue.doom(filed.name);
            }
        }
        // A walk that finds the file of a variant later asks the purge.
        if files.is_empty() && !catalogue.complete && page.selection.is_none() {
            catalogue.doom_unknown(Name::of_key(page.key), page.hash);
        }
    }

    /// Removes all files of a key, soon; how many pages those were.
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

    /// As [`Self::remove`], except that files of fetches that began at `generation` or later stay. `is_overtaken` says that
    /// memory has such a page.
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

    /// Removes all files, soon; how many pages those were. A file that a recovery has yet to find counts as removed if it was
    /// fetched before `sequence`.
    pub fn clear(&self, sequence: u64) -> usize {
        self.shelf.files.barrier.fetch_max(sequence, Relaxed);
        let count = self.shelf.catalogue.lock().remove_all();
        self.shelf.bury_soon();
        count
    }
}
