//! Finding and reading the file of a page in the disk tier of a zone.

use std::fs;
use std::sync::atomic::Ordering::Relaxed;

use crate::index::{FileName, HashedKeyRef, PurgeVerdict};

use super::DiskStore;
use crate::file_index::{FileRole, IndexedFile, blocks_of, split_hash};
use crate::format::{ContentKind, FormatError, variant_hash};
use crate::load::{self, LoadedFile};
use crate::page::{PageBody, PageId, ReadPage};
use crate::read::{self, ReadFailure};

impl DiskStore {
    /// Returns the name of the file that may contain the page for a request. Returns `None` if no file can, if a later
    /// page is waiting to be written in its place, or before the folder could be opened. `variant` receives the request
    /// fields in `Vary` of the key's pages (the selector), and appends the request's values of them.
    pub fn seek(&self, key: HashedKeyRef<'_>, variant: &impl Fn(&[u8], &mut Vec<u8>)) -> Option<FileName> {
        if !self.file_store.health.has_begun() {
            return None;
        }
        self.file_store.file_index.lock().seek(key.bytes(), key.hash(), variant)
    }

    /// Reads the key of the page in a file. Returns `None` if the file cannot be read or is invalid.
    pub fn key_in(&self, name: FileName) -> Option<Box<[u8]>> {
        load::load(&self.file_store, name, 0).ok().map(|loaded| loaded.key)
    }

    /// Reads the page of `key` from a file. A body longer than both `most_in_memory` (bytes) and 256 KB is not loaded;
    /// the result refers to the file.
    ///
    /// Returns `None` if the file is missing, invalid (it is quarantined), unreadable, or marked as removed, and if it
    /// contains another key's page, only a marker, a page from before the zone was cleared, or a page of another fetch
    /// than its index entry. Also returns `None` for a page whose fetch number this process has not reached (a newer
    /// process wrote the file), and while the zone is being dropped. `now` is in milliseconds.
    pub fn read(
        &self,
        name: FileName,
        most_in_memory: u64,
        now: u64,
        key: HashedKeyRef<'_>,
    ) -> Option<ReadPage> {
        let file_store = &self.file_store;
        let hash = key.hash();
        let loaded = match load::load(file_store, name, most_in_memory) {
            Ok(loaded) => loaded,
            Err(ReadFailure::Missing) => {
                file_store.check_presence(name);
                return None;
            }
            Err(ReadFailure::Invalid(why)) => {
                let _stripe = file_store.stripe(hash);
                // The file may have been replaced by an intact file during the read.
                if load::load(file_store, name, most_in_memory).is_err() {
                    file_store.quarantine(name, why);
                }
                return None;
            }
            Err(ReadFailure::Failed(error)) => {
                file_store.record_unreadable(name, hash, error);
                return None;
            }
        };
        file_store.counts.reads.fetch_add(1, Relaxed);
        if loaded.key[..] != key.bytes()[..] {
            // Two keys with the same MD5: the page belongs to another key.
            return None;
        }
        let is_void = loaded.header.generation < file_store.files.barrier.load(Relaxed)
            || file_store.memory.upgrade().is_none_or(|memory| loaded.header.generation >= memory.sequence());
        if is_void {
            file_store.file_index.lock().doom_unknown(name, hash);
            file_store.remove_doomed(name, hash);
            return None;
        }
        self.note_read(name, hash, &loaded, now)?;
        (loaded.header.kind != ContentKind::Marker).then(|| loaded.into_page(&self.file_store.health))
    }

    /// Quarantines a file whose metadata the caller cannot parse.
    pub fn quarantine_unreadable(&self, name: FileName, hash: u128) {
        let _stripe = self.file_store.stripe(hash);
        self.file_store.quarantine(name, FormatError::Foreign);
    }

    /// Returns the body of the page in a file. Returns `None` if the file cannot be read, or its page is not from the
    /// fetch with number `generation`. A body longer than 256 KB is not loaded; the result refers to the file.
    pub fn body_of(&self, name: FileName, generation: u64) -> Option<PageBody> {
        let loaded = load::load(&self.file_store, name, 0).ok()?;
        (loaded.header.generation == generation).then_some(loaded.body)
    }

    /// Adds a file that was just read to the file index, or records its use. Returns `None` if the file must not be
    /// served: it has been removed or is about to be, or its index entry has another generation. In the latter case,
    /// the file is marked for removal unless it was replaced during the read.
    fn note_read(&self, name: FileName, key_hash: u128, loaded: &LoadedFile, now: u64) -> Option<()> {
        let file_store = &self.file_store;
        let main = FileName::of_key(&loaded.key);
        let role = match loaded.header.kind {
            ContentKind::Marker => FileRole::Marker,
            ContentKind::Object if name == main => FileRole::Plain,
            ContentKind::Object => FileRole::Variant,
        };
        let stripe = file_store.stripe(key_hash);
        // The folder is watched before the check, so that a removal between the two is noticed.
        file_store.files.watch(name);
        if fs::symlink_metadata(file_store.files.path(name)).is_err() {
            drop(stripe);
            file_store.check_presence(name);
            return None;
        }
        let mut file_index = file_store.file_index.lock();
        if file_index.is_doomed(name) {
            return None;
        }
        let generation = loaded.header.generation;
        if !file_index.mark_seen(name) {
            let blocks = blocks_of(loaded.len);
            file_index.take_blocks(blocks);
            let (hash, used_s) = (split_hash(key_hash), (now / 1000) as u32);
            let variant = variant_hash((role == FileRole::Variant).then_some(&loaded.variant)) as u32;
            let filed = IndexedFile {
                name,
                hash,
                generation,
                variant,
                blocks,
                used_s,
                role,
                was_seen: true,
                is_trusted: true,
                share: 0,
            };
            file_index.insert(filed, &loaded.labels);
        }
        if role != FileRole::Marker
            && file_index.get(name).is_some_and(|filed| filed.generation != generation)
        {
            // Either the file was replaced during the read, or a power loss restored a former file, which no index
            // contains.
            let is_replaced = read::open(&file_store.files, name).is_ok_and(|file| {
                read::header(&file_store.files, &file)
                    .is_ok_and(|(header, _)| header.generation != generation)
            });
            if !is_replaced {
                file_index.doom(name);
            }
            return None;
        }
        file_index.touch(name, (now / 1000) as u32);
        if role == FileRole::Marker {
            file_index.set_marker(name, key_hash, &loaded.selector, loaded.header.family);
        }
        Some(())
    }

    /// Returns the number of the newest soft purge whose number of covered pages already includes the page in a file; 0
    /// if there is none. Purges up to this number must not count the page again.
    pub fn counted_upto(&self, name: FileName) -> u64 {
        self.file_store.file_index.lock().softened.newest(name)
    }

    /// Applies the combined verdict of the purges up to `number` to a file, if it still contains `page`. Returns false
    /// if the verdict is `Removed`.
    pub fn apply_verdict(
        &self,
        name: FileName,
        page: &PageId<'_>,
        verdict: PurgeVerdict,
        number: u64,
    ) -> bool {
        let filed = self.file_store.file_index.lock().get(name);
        if let Some(filed) = filed.filter(|filed| filed.generation == page.generation) {
            self.file_store.apply_verdict(&filed, verdict, number);
            if verdict == PurgeVerdict::Removed {
                self.file_store.remove_doomed(name, page.hash);
            }
        }
        verdict != PurgeVerdict::Removed
    }

    /// Returns the verdict of `judge` on the page in a file. `judge` receives the page's key and metadata. A missing
    /// file is `Unaffected`. A file that is invalid, cannot be read, or contains a page of another fetch than its index
    /// entry is `Removed`.
    pub fn judge_file_with(
        &self,
        filed: &IndexedFile,
        judge: impl FnOnce(&[u8], &[u8]) -> PurgeVerdict,
    ) -> PurgeVerdict {
        let asked = read::head(&self.file_store.files, filed.name, |header, head| {
            // A different generation: the file was replaced by a page that was checked when it was written, or it does
            // not match its index entry.
            (header.generation == filed.generation).then(|| judge(head.key, head.meta))
        });
        match asked {
            Ok(Some(verdict)) => verdict,
            Err(ReadFailure::Missing) => PurgeVerdict::Unaffected,
            // If another page has replaced the file, that page is not removed: the caller compares generations before
            // it applies the verdict.
            Ok(None) | Err(ReadFailure::Invalid(_) | ReadFailure::Failed(_)) => PurgeVerdict::Removed,
        }
    }

    /// Records that the page of a key was served from memory, so that its files are evicted later. `used_s` is in
    /// seconds since the epoch.
    pub fn touch_key(&self, hash: u128, used_s: u32) {
        self.file_store.file_index.lock().touch_key(hash, used_s);
    }
}
