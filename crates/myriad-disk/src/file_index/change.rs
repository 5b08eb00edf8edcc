//! Changes of the file index: addition, replacement and removal of files.

use crate::index::{EvictionPosition, FileName};

use super::{FileIndex, FileRole, IndexedFile, VariantMarker, split_hash};
use crate::file_labels::mark_of;

/// Minimum number of entries in the label table that the addition or removal of a file examines, to remove entries of
/// files that are gone. The addition of a file with many labels examines two entries per label, so that few remain.
const LABEL_PAIRS_SCANNED: usize = 32;

/// Number of labels (hashes by which purges find a page) that the size of a file entry in `keys_zone` includes: those
/// of its URL.
const FREE_LABELS: usize = 2;
/// Number of further labels of a file, of about 32 bytes each, that count as one more file.
const LABELS_PER_SHARE: usize = 4;

/// Returns the number of additional files, at most 255, that a file with this number of labels counts as.
fn share_of(labels: usize) -> u8 {
    u8::try_from(labels.saturating_sub(FREE_LABELS).div_ceil(LABELS_PER_SHARE)).unwrap_or(u8::MAX)
}

impl FileIndex {
    /// Adds 4 KB blocks to the used disk space.
    pub(crate) fn take_blocks(&mut self, blocks: u32) {
        self.used_blocks += u64::from(blocks);
    }

    /// Subtracts 4 KB blocks from the used disk space.
    pub(crate) fn return_blocks(&mut self, blocks: u32) {
        debug_assert!(self.used_blocks >= u64::from(blocks));
        self.used_blocks = self.used_blocks.saturating_sub(u64::from(blocks));
    }

    /// Adds a file to the index, with the labels of its page; its disk space must be reserved already. Replaces a file
    /// of the same name, whose space is released.
    pub(crate) fn insert(&mut self, filed: IndexedFile, labels: &[u64]) {
        self.insert_with(IndexedFile { share: share_of(labels.len()), ..filed }, labels, None);
    }

    pub(super) fn insert_with(
        &mut self,
        filed: IndexedFile,
        labels: &[u64],
        standing: Option<EvictionPosition>,
    ) {
        if let Some((_, blocks)) = self.doomed.remove(&filed.name) {
            self.return_blocks(blocks);
        }
        let slot = self.insert_entry(filed, standing);
        for label in labels {
            self.labels.insert(*label, slot, filed.generation);
        }
        self.tidy_labels(LABEL_PAIRS_SCANNED.max(2 * labels.len()));
    }

    fn insert_entry(&mut self, filed: IndexedFile, standing: Option<EvictionPosition>) -> u32 {
        self.shares += usize::from(filed.share);
        if let Some(slot) = self.find(filed.name) {
            if let Some(known) = self.queue.at_mut(slot) {
                let former = *known;
                *known = IndexedFile { used_s: known.used_s.max(filed.used_s), ..filed };
                self.return_blocks(former.blocks);
                self.shares -= usize::from(former.share);
                if former.hash != filed.hash {
                    self.rehash(slot, &former, &filed);
                }
                if former.generation != filed.generation {
                    self.softened.remove(filed.name);
                }
            }
            return slot;
        }
        let slot = match standing {
            None => self.queue.insert(filed, filed.name.table_hash()),
            Some(standing) => self.queue.insert_as(filed, standing),
        };
        let queue = &self.queue;
        let by_name = |&slot: &u32| queue.at(slot).map_or(0, |filed| filed.name.table_hash());
        let by_hash = |&slot: &u32| queue.at(slot).map_or(0, |filed| filed.hash[0]);
        self.by_name.insert_unique(filed.name.table_hash(), slot, by_name);
        self.by_hash.insert_unique(filed.hash[0], slot, by_hash);
        slot
    }

    /// Moves a file to the hash of another key with the same file name. If the file was a marker, the former key's
    /// variants are marked as removed. Clients can create such keys, because MD5 collisions are easy to find.
    fn rehash(&mut self, slot: u32, former: &IndexedFile, filed: &IndexedFile) {
        if let Ok(found) = self.by_hash.find_entry(former.hash[0], |&other| other == slot) {
            found.remove();
        }
        let queue = &self.queue;
        let by_hash = |&slot: &u32| queue.at(slot).map_or(0, |filed| filed.hash[0]);
        self.by_hash.insert_unique(filed.hash[0], slot, by_hash);
        if former.role == FileRole::Marker {
            self.doom_variants(former.key_hash());
        }
    }

    /// Examines `steps` label entries and removes stale ones.
    fn tidy_labels(&mut self, steps: usize) {
        let queue = &self.queue;
        let is_live =
            |slot: u32, low: u32| queue.at(slot).is_some_and(|filed| mark_of(filed.generation) == low);
        self.labels.tidy(steps, is_live);
    }

    /// Records the contents of a key's marker file. If the key's `Vary` or the family number in its file names has
    /// changed, the known variants count as removed.
    pub(crate) fn set_marker(&mut self, name: FileName, hash: u128, selector: &[u8], family: u64) {
        let marker = VariantMarker { selector: selector.into(), family };
        let former = self.markers.insert(name, marker);
        if former.is_some_and(|former| former.family != family || *former.selector != *selector) {
            self.doom_variants(hash);
        }
    }

    /// Marks the files of a key's known variants as removed; they are deleted later.
    pub(crate) fn doom_variants(&mut self, hash: u128) {
        let names: Vec<FileName> = self.variants(hash).map(|filed| filed.name).collect();
        for name in names {
            self.doom(name);
        }
    }

    /// Removes the contents of a key's marker file from the index, and marks the key's variants as removed.
    pub(crate) fn clear_marker(&mut self, name: FileName, hash: u128) {
        self.markers.remove(&name);
        self.doom_variants(hash);
    }

    /// Marks the marker file of a key as removed if the key has no variants any more.
    pub(super) fn doom_idle_marker(&mut self, hash: u128) {
        if self.variants(hash).next().is_none()
            && let Some(marker) = self.key_file(hash).filter(|filed| filed.role == FileRole::Marker)
        {
            self.doom(marker.name);
        }
    }

    /// Removes a file from the index; its disk space remains accounted. If it is a marker file, its variants are marked
    /// as removed; if it is the last variant, the marker is, once the search at startup is complete. Returns `None` if
    /// the file is not in the index.
    fn remove_entry(&mut self, name: FileName) -> Option<IndexedFile> {
        let slot = self.find(name)?;
        let filed = self.queue.remove(slot)?;
        self.shares -= usize::from(filed.share);
        if let Ok(found) = self.by_name.find_entry(name.table_hash(), |&other| other == slot) {
            found.remove();
        }
        if let Ok(found) = self.by_hash.find_entry(filed.hash[0], |&other| other == slot) {
            found.remove();
        }
        match filed.role {
            FileRole::Marker => self.clear_marker(name, filed.key_hash()),
            // Until all files are known, other variants may exist.
            FileRole::Variant if self.complete => self.doom_idle_marker(filed.key_hash()),
            FileRole::Variant | FileRole::Plain => {}
        }
        self.softened.remove(name);
        self.tidy_labels(LABEL_PAIRS_SCANNED);
        Some(filed)
    }

    /// Marks a file of the index as removed: look-ups do not find it any more, but its disk space remains accounted
    /// until it is deleted. Has no effect if the file is not in the index.
    pub(crate) fn doom(&mut self, name: FileName) {
        if let Some(filed) = self.remove_entry(name) {
            self.doomed.insert(name, (filed.hash, filed.blocks));
        }
    }

    /// Like [`Self::doom`], also for a file that is not in the index but may exist.
    pub(crate) fn doom_unknown(&mut self, name: FileName, hash: u128) {
        self.doom(name);
        self.doomed.entry(name).or_insert((split_hash(hash), 0));
    }

    /// Removes a file from the index, releases its disk space at once, and returns its entry; `None` if the file is not
    /// in the index. The variants of a marker file are marked as removed.
    pub(crate) fn forget(&mut self, name: FileName) -> Option<IndexedFile> {
        let filed = self.remove_entry(name)?;
        self.return_blocks(filed.blocks);
        Some(filed)
    }

    /// Releases the disk space of a file that was marked as removed, after it was deleted.
    pub(crate) fn forget_doomed(&mut self, name: FileName) {
        if let Some((_, blocks)) = self.doomed.remove(&name) {
            self.return_blocks(blocks);
        }
    }

    /// Returns the next file to evict, or `None` if the index is empty.
    pub(crate) fn next_victim(&mut self) -> Option<IndexedFile> {
        let slot = self.queue.victim(|filed| u64::from(filed.blocks), |_| 0)?;
        self.queue.at(slot).copied()
    }

    /// Like [`Self::doom`], for a file that is evicted: the eviction queue also records its name
    /// ([`S3Fifo::remember`]).
    pub(crate) fn evict(&mut self, name: FileName) {
        if let Some(slot) = self.find(name) {
            self.queue.remember(slot, name.table_hash());
        }
        self.doom(name);
    }

    /// Records that the page in a file was used, for the eviction order. `used_s` is in seconds since the epoch.
    pub(crate) fn touch(&mut self, name: FileName, used_s: u32) {
        if let Some(slot) = self.find(name)
            && let Some(filed) = self.queue.hit(slot, 1)
        {
            filed.used_s = filed.used_s.max(used_s);
        }
    }

    /// Records a use of all files of a key, because its page was served from memory. Delays their eviction.
    pub(crate) fn touch_key(&mut self, hash: u128, used_s: u32) {
        let halves = split_hash(hash);
        let slots: Vec<u32> = self.by_hash.iter_hash(hash as u64).copied().collect();
        for slot in slots {
            if self.queue.at(slot).is_some_and(|filed| filed.hash == halves)
                && let Some(filed) = self.queue.hit(slot, 1)
            {
                filed.used_s = filed.used_s.max(used_s);
            }
        }
    }

    /// Marks all files of a key as removed and cancels its pending writes. Returns the number of pages in these files;
    /// until the search at startup is complete, pages in files that are not in the index are not counted.
    pub(crate) fn remove_key(&mut self, key: &[u8], hash: u128) -> usize {
        self.writes.remove_key(hash);
        let count = self.files_of_hash(hash).filter(|filed| filed.role != FileRole::Marker).count();
        if count > 0 || !self.complete || self.key_file(hash).is_some() {
            self.doom_unknown(FileName::of_key(key), hash);
            // The marker of these variants may not be in the index yet.
            self.doom_variants(hash);
        }
        count
    }

    /// Marks all files of the zone as removed and cancels all pending writes. Returns the number of pages.
    pub(crate) fn remove_all(&mut self) -> usize {
        self.writes.clear();
        let slots = 0..self.queue.slots();
        let is_page = |filed: &&IndexedFile| filed.role != FileRole::Marker;
        let count = slots.clone().filter_map(|slot| self.queue.at(slot)).filter(is_page).count();
        for slot in slots {
            if let Some(filed) = self.queue.at(slot).copied() {
                self.doom(filed.name);
            }
        }
        count
    }

    /// Returns up to `most` soft-purged files that are not marked as stale on disk yet. They count as marked from now
    /// on.
    pub(crate) fn take_softened(&mut self, most: usize) -> Vec<IndexedFile> {
        let names = self.softened.take_unwritten(most);
        names.into_iter().filter_map(|name| self.get(name)).collect()
    }
}
