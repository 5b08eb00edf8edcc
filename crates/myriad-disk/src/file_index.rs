//! Index of the files in a zone's folder, by name, key hash and label, in eviction order.

mod change;
mod indexed_file;
mod snapshot_files;
mod soft_purged;
#[cfg(test)]
mod tests;
mod writes;

use std::collections::HashMap;

use crate::index::{FileName, S3Fifo};
use hashbrown::HashTable;

use crate::file_labels::{FileLabels, mark_of};
use crate::format::variant_hash;

pub use indexed_file::IndexedFile;
use indexed_file::join_hash;
pub(crate) use indexed_file::{BLOCK, FileRole, VariantMarker, blocks_of, split_hash};
use soft_purged::SoftPurgedPages;
use writes::PendingWrites;

/// In-memory index of a zone's page files. Before a file is changed, the lock for its cache key must be taken and this
/// index updated.
#[derive(Debug)]
pub(crate) struct FileIndex {
    queue: S3Fifo<IndexedFile>,
    by_name: HashTable<u32>,
    by_hash: HashTable<u32>,
    labels: FileLabels,
    markers: HashMap<FileName, VariantMarker>,
    /// Pages in files that soft purges have covered, until these purges are forgotten.
    pub(crate) softened: SoftPurgedPages,
    /// Files that count as removed but are not deleted yet, with their key hashes and 4 KB blocks. The blocks count as
    /// used until the file is deleted.
    doomed: HashMap<FileName, ([u64; 2], u32)>,
    /// Writes of pages to files that are in progress.
    pub(crate) writes: PendingWrites,
    used_blocks: u64,
    /// Sum of [`IndexedFile::share`] of all files: the additional files that their labels count as.
    shares: usize,
    /// Set once the search at startup has found all files. Before that, files may exist that are not in the index.
    pub(crate) complete: bool,
}

impl FileIndex {
    pub(crate) fn new() -> Self {
        Self {
            queue: S3Fifo::default(),
            by_name: HashTable::new(),
            by_hash: HashTable::new(),
            labels: FileLabels::default(),
            markers: HashMap::new(),
            softened: SoftPurgedPages::default(),
            doomed: HashMap::new(),
            writes: PendingWrites::default(),
            used_blocks: 0,
            shares: 0,
            complete: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns the number of files plus their shares for labels, which is compared with the limit of files.
    pub(crate) fn weighted_len(&self) -> usize {
        self.len() + self.shares
    }

    pub(crate) fn slots(&self) -> u32 {
        self.queue.slots()
    }

    pub(crate) fn used_blocks(&self) -> u64 {
        self.used_blocks
    }

    pub(crate) fn doomed(&self) -> usize {
        self.doomed.len()
    }

    pub(crate) fn at(&self, slot: u32) -> Option<&IndexedFile> {
        self.queue.at(slot)
    }

    pub(crate) fn find(&self, name: FileName) -> Option<u32> {
        let is_it = |&slot: &u32| self.queue.at(slot).is_some_and(|filed| filed.name == name);
        self.by_name.find(name.table_hash(), is_it).copied()
    }

    pub(crate) fn get(&self, name: FileName) -> Option<IndexedFile> {
        self.find(name).and_then(|slot| self.queue.at(slot)).copied()
    }

    pub(crate) fn is_doomed(&self, name: FileName) -> bool {
        self.doomed.contains_key(&name)
    }

    pub(crate) fn marker(&self, name: FileName) -> Option<&VariantMarker> {
        self.markers.get(&name)
    }

    /// Returns the file named after the key alone: its only page, or the marker file if the key has variants (`Vary`).
    /// `None` if it is not in the index.
    fn key_file(&self, hash: u128) -> Option<IndexedFile> {
        let halves = split_hash(hash);
        let is_it = |&slot: &u32| {
            self.queue.at(slot).is_some_and(|filed| filed.hash == halves && filed.role != FileRole::Variant)
        };
        self.by_hash.find(hash as u64, is_it).and_then(|slot| self.queue.at(*slot)).copied()
    }

    /// Returns all files of the key with this hash: its page, or its marker file and variants.
    pub(crate) fn files_of_hash(&self, hash: u128) -> impl Iterator<Item = &IndexedFile> {
        let halves = split_hash(hash);
        let filed = self.by_hash.iter_hash(hash as u64).filter_map(|slot| self.queue.at(*slot));
        filed.filter(move |filed| filed.hash == halves)
    }

    /// Returns true if the index has a file with a page of this key and variant whose generation `is_meant` accepts.
    /// Files known only from an old snapshot do not count.
    pub(crate) fn has_page(
        &self,
        hash: u128,
        variant: Option<&[u8]>,
        is_meant: impl Fn(u64) -> bool,
    ) -> bool {
        let variant = variant_hash(variant) as u32;
        let mut files = self.files_of_hash(hash).filter(|filed| filed.role != FileRole::Marker);
        files.any(|filed| filed.variant == variant && filed.is_trusted && is_meant(filed.generation))
    }

    /// Returns true if a trusted file is from a later fetch than `generation` and replaces the given page: the file of
    /// the same variant if the key's marker has the selector in `selection` (selector, variant), otherwise any file of
    /// the key.
    pub(crate) fn is_superseded(
        &self,
        main: FileName,
        hash: u128,
        selection: Option<(&[u8], &[u8])>,
        generation: u64,
    ) -> bool {
        let marker = self.markers.get(&main);
        let varies_alike =
            selection.zip(marker).is_some_and(|((selector, _), marker)| *selector == *marker.selector);
        let variant = variant_hash(selection.map(|(_, variant)| variant)) as u32;
        let in_its_place = |filed: &IndexedFile| {
            !varies_alike || filed.role == FileRole::Variant && filed.variant == variant
        };
        let mut later =
            self.files_of_hash(hash).filter(|filed| filed.is_trusted && filed.generation > generation);
        later.any(in_its_place)
    }

    /// Returns the file that may contain the page for a request, or `None` if no file can or a later page is being
    /// written. `variant` derives the request's variant from a selector.
    pub(crate) fn seek(
        &self,
        key: &[u8],
        hash: u128,
        variant: &impl Fn(&[u8], &mut Vec<u8>),
    ) -> Option<FileName> {
        let Some(filed) = self.key_file(hash) else {
            // The file may exist even if it is unknown, until the recovery has found all files.
            let name = (!self.complete && !self.writes.has_newer(hash, None, 0))
                .then(|| FileName::of_key(key))
                .filter(|name| !self.is_doomed(*name));
            return name;
        };
        let Some(marker) = self.markers.get(&filed.name) else {
            // The page in the file is outdated if a later page is waiting to be written, even if memory has dropped the
            // later page.
            let is_past = self.writes.has_newer(hash, None, filed.generation);
            return (!is_past).then_some(filed.name);
        };
        let mut derived = Vec::new();
        variant(&marker.selector, &mut derived);
        let name = FileName::of_variant(key, marker.family, &derived);
        let found = self.find(name).and_then(|slot| self.queue.at(slot));
        let known = found.is_some() || !self.complete && !self.is_doomed(name);
        let is_past = self.writes.has_newer(hash, Some(&derived), found.map_or(0, |filed| filed.generation));
        (known && !is_past).then_some(name)
    }

    /// Returns the files of a key's variants, including those that look-ups cannot reach because the key's `Vary` has
    /// changed.
    fn variants(&self, hash: u128) -> impl Iterator<Item = &IndexedFile> {
        self.files_of_hash(hash).filter(|filed| filed.role == FileRole::Variant)
    }

    /// Returns the least recently used variant of a key if the key has more than `most` variants on disk and otherwise
    /// `None`. `in_memory` contains the variant hashes and last uses (seconds since the epoch) of the key's pages in
    /// memory. Never returns `excluded`.
    pub(crate) fn excess_variant(
        &self,
        hash: u128,
        most: usize,
        in_memory: &[(u32, u32)],
        excluded: Option<FileName>,
    ) -> Option<FileName> {
        if self.variants(hash).count() <= most {
            return None;
        }
        let used = |filed: &IndexedFile| {
            let hits = in_memory.iter().filter(|(variant, _)| *variant == filed.variant);
            (hits.map(|(_, used_s)| *used_s).max().unwrap_or(0).max(filed.used_s), filed.generation)
        };
        let others = self.variants(hash).filter(|filed| excluded != Some(filed.name));
        others.min_by_key(|filed| used(filed)).map(|filed| filed.name)
    }

    /// Returns up to `most` files that have a label (hash of a URL or tag) and whose fetch began before `number`, from
    /// the slots after `after`, and the slot to continue after (`None` if the search is complete).
    pub(crate) fn files_with_label(
        &self,
        label: u64,
        after: Option<u32>,
        number: u64,
        most: usize,
    ) -> (Option<u32>, Vec<IndexedFile>) {
        let slots = self.labels.some(label, after, most);
        let last = slots.last().map(|(slot, _)| *slot).filter(|_| slots.len() == most);
        let filed = slots.into_iter().filter_map(|(slot, low)| {
            self.queue.at(slot).filter(|filed| mark_of(filed.generation) == low && filed.generation < number)
        });
        (last, filed.copied().collect())
    }

    /// Returns up to `count` files that count as removed but are not deleted yet, with the hashes of their keys.
    pub(crate) fn first_doomed(&self, count: usize) -> Vec<(FileName, u128)> {
        self.doomed.iter().take(count).map(|(name, (halves, _))| (*name, join_hash(*halves))).collect()
    }

    /// Returns the key hashes of pages with pending writes, and of files marked as removed but not deleted yet.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = u128> {
        let replaced = self.writes.keys();
        let doomed = self.doomed.values().map(|(halves, _)| join_hash(*halves));
        replaced.chain(doomed)
    }
}
