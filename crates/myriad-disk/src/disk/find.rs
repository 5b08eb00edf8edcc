//! Search for the page of a key, and reading of the page.

use std::fs;
use std::sync::atomic::Ordering::Relaxed;

use crate::index::{Hashed, Name, Verdict};

use super::Disk;
use crate::catalogue::{Filed, Role, blocks_of, halves};
use crate::format::{FormatError, Kind, variant_hash};
use crate::load::{self, Loaded};
use crate::page::{PageBody, PageId, ReadPage};
use crate::read::{self, Unread};

impl Disk {
    /// Returns the file that may contain the page for a request; `None` if no file can. `variant` derives the request's
    /// variant from a selector.
    pub fn seek(&self, key: Hashed<'_>, variant: &impl Fn(&[u8], &mut Vec<u8>)) -> Option<Name> {
        if !self.shelf.health.has_begun() {
            return None;
        }
        self.shelf.catalogue.lock().seek(key.bytes(), key.hash(), variant)
    }

    /// Returns the key of the page in a file.
    pub fn key_in(&self, name: Name) -> Option<Box<[u8]>> {
        load::load(&self.shelf, name, 0).ok().map(|loaded| loaded.key)
    }

    /// Reads the page of a key from a file. A body of more than `most_in_memory` bytes remains in the file. A file that
    /// cannot be that page is forgotten, removed or quarantined.
    pub fn read(&self, name: Name, most_in_memory: u64, now: u64, key: Hashed<'_>) -> Option<ReadPage> {
        let shelf = &self.shelf;
        let hash = key.hash();
        let loaded = match load::load(shelf, name, most_in_memory) {
            Ok(loaded) => loaded,
            Err(Unread::Missing) => {
                shelf.check_presence(name);
                return None;
            }
            Err(Unread::Unfit(why)) => {
                let _stripe = shelf.stripe(hash);
                // It may have been replaced by an intact file during the read.
                if load::load(shelf, name, most_in_memory).is_err() {
                    shelf.quarantine(name, why);
                }
                return None;
            }
            Err(Unread::Failed(error)) => {
                shelf.unreadable(name, hash, error);
                return None;
            }
        };
        shelf.counts.reads.fetch_add(1, Relaxed);
        if loaded.key[..] != key.bytes()[..] {
            // Two keys with the same MD5: the page belongs to another key.
            return None;
        }
        let is_void = loaded.header.generation < shelf.files.barrier.load(Relaxed)
            || shelf.memory.upgrade().is_none_or(|memory| loaded.header.generation >= memory.sequence());
        if is_void {
            shelf.catalogue.lock().doom_unknown(name, hash);
            shelf.bury(name, hash);
            return None;
        }
        self.note_read(name, hash, &loaded, now)?;
        (loaded.header.kind != Kind::Marker).then(|| loaded.into_page(&self.shelf.health))
    }

    /// Quarantines a file whose metadata the caller cannot read.
    pub fn refuse(&self, name: Name, hash: u128) {
        let _stripe = self.shelf.stripe(hash);
        self.shelf.quarantine(name, FormatError::Foreign);
    }

    /// Returns the body of the page in a file if it belongs to this fetch. A long body remains in the file.
    pub fn body_of(&self, name: Name, generation: u64) -> Option<PageBody> {
        let loaded = load::load(&self.shelf, name, 0).ok()?;
        (loaded.header.generation == generation).then_some(loaded.body)
    }

    /// Adds a file that was read to the catalogue, unless it has been removed meanwhile.
    fn note_read(&self, name: Name, key_hash: u128, loaded: &Loaded, now: u64) -> Option<()> {
        let shelf = &self.shelf;
        let main = Name::of_key(&loaded.key);
        let role = match loaded.header.kind {
            Kind::Marker => Role::Marker,
            Kind::Object if name == main => Role::Plain,
            Kind::Object => Role::Variant,
        };
        let stripe = shelf.stripe(key_hash);
        // Watched first, then checked, so that a removal between the two is noticed.
        shelf.files.watch(name);
        if fs::symlink_metadata(shelf.files.path(name)).is_err() {
            drop(stripe);
            shelf.check_presence(name);
            return None;
        }
        let mut catalogue = shelf.catalogue.lock();
        if catalogue.is_doomed(name) {
            return None;
        }
        let generation = loaded.header.generation;
        if !catalogue.see(name) {
            let blocks = blocks_of(loaded.len);
            catalogue.take_blocks(blocks);
            let (hash, used_s) = (halves(key_hash), (now / 1000) as u32);
            let variant = variant_hash((role == Role::Variant).then_some(&loaded.variant)) as u32;
            let filed = Filed {
                name,
                hash,
                generation,
                variant,
                blocks,
                used_s,
                role,
                seen: true,
                sure: true,
                share: 0,
            };
            catalogue.enter(filed, &loaded.labels);
        }
        if role != Role::Marker && catalogue.get(name).is_some_and(|filed| filed.generation != generation) {
            // It was replaced during the read, or a power loss restored a former file, which no index has.
            let is_replaced = read::open(&shelf.files, name).is_ok_and(|file| {
                read::header(&shelf.files, &file).is_ok_and(|(header, _)| header.generation != generation)
            });
            if !is_replaced {
                catalogue.doom(name);
            }
            return None;
        }
        catalogue.touch(name, (now / 1000) as u32);
        if role == Role::Marker {
            catalogue.mark(name, key_hash, &loaded.selector, loaded.header.family);
        }
        Some(())
    }

    /// Returns the number of the newest soft purge that has counted the page in a file. Purges up to this number do not
    /// count it again.
    pub fn counted_upto(&self, name: Name) -> u64 {
        self.shelf.catalogue.lock().softened.newest(name)
    }

    /// Applies the verdict of the purges up to `number` to a file. Returns whether the page remains.
    pub fn obey(&self, name: Name, page: &PageId<'_>, verdict: Verdict, number: u64) -> bool {
        let filed = self.shelf.catalogue.lock().get(name);
        if let Some(filed) = filed.filter(|filed| filed.generation == page.generation) {
            self.shelf.obey(&filed, verdict, number);
            if verdict == Verdict::Goes {
                self.shelf.bury(name, page.hash);
            }
        }
        verdict != Verdict::Goes
    }

    /// Returns the verdict of `judge` on the page in a file, by its key and metadata. A page that cannot be checked is
    /// removed.
    pub fn ask_file(&self, filed: &Filed, judge: impl FnOnce(&[u8], &[u8]) -> Verdict) -> Verdict {
        let asked = read::head(&self.shelf.files, filed.name, |header, head| {
            // Another generation: replaced by a page that was checked when it was written, or different from its
            // catalogue entry.
            (header.generation == filed.generation).then(|| judge(head.key, head.meta))
        });
        match asked {
            Ok(Some(verdict)) => verdict,
            Err(Unread::Missing) => Verdict::Stays,
            // A page that has replaced it remains, because generations are compared when the verdict is applied.
            Ok(None) | Err(Unread::Unfit(_) | Unread::Failed(_)) => Verdict::Goes,
        }
    }

    /// Records a use of a key's page in memory, in seconds since the epoch.
    pub fn touch_key(&self, hash: u128, used_s: u32) {
        self.shelf.catalogue.lock().touch_key(hash, used_s);
    }
}
