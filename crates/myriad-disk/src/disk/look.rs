//! Inspection of files, without loading their pages into the memory tier.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

use crate::index::{Hashed, Name, Selection};

use super::Disk;
use crate::catalogue::Role;
use crate::format::{Kind, Tail};
use crate::page::PageHead;
use crate::read;

/// Number of files searched under one lock.
const LABELLED: usize = 64;
/// Maximum number of bytes around a body that are read to inspect a page.
const MOST_AROUND: u64 = 64 << 20;

impl Disk {
    /// Returns the files of pages in some slots of the catalogue, and the next slot; `None` at the end.
    pub fn files(&self, slot: u32, count: u32) -> (Vec<Name>, Option<u32>) {
        let catalogue = self.shelf.catalogue.lock();
        let end = slot.saturating_add(count).min(catalogue.slots());
        let pages =
            (slot..end).filter_map(|slot| catalogue.at(slot)).filter(|filed| filed.role != Role::Marker);
        (pages.map(|filed| filed.name).collect(), (end < catalogue.slots()).then_some(end))
    }

    /// Returns the known files of a key's pages.
    pub fn files_of(&self, key: Hashed<'_>) -> Vec<Name> {
        let catalogue = self.shelf.catalogue.lock();
        let pages = catalogue.of_hash(key.hash()).filter(|filed| filed.role != Role::Marker);
        pages.map(|filed| filed.name).collect()
    }

    /// Returns the files of pages with a label.
    pub fn files_bearing(&self, label: u64) -> Vec<Name> {
        let (mut names, mut after) = (Vec::new(), None);
        loop {
            let (next, filed) = self.shelf.catalogue.lock().bearing(label, after, u64::MAX, LABELLED);
            names.extend(filed.into_iter().map(|filed| filed.name));
            after = next;
            if after.is_none() {
                return names;
            }
        }
    }

    /// Returns the file of a page, if it is known.
    pub fn file_of(&self, key: Hashed<'_>, variant: Option<&[u8]>) -> Option<PathBuf> {
        let catalogue = self.shelf.catalogue.lock();
        let main = Name::of_key(key.bytes());
        let name = match variant {
            None => main,
            Some(variant) => Name::of_variant(key.bytes(), catalogue.marker(main)?.family, variant),
        };
        catalogue.find(name).map(|_| self.shelf.files.path(name))
    }

    /// Reads the description of the page in a file; `None` if it cannot be read or has no page.
    pub fn read_head(&self, name: Name) -> Option<PageHead> {
        let file = read::open(&self.shelf.files, name).ok()?;
        let (header, len) = read::header(&self.shelf.files, &file).ok()?;
        let is_void = header.generation < self.shelf.files.barrier.load(Relaxed);
        if header.kind != Kind::Object || is_void || len - header.head_at() > MOST_AROUND {
            return None;
        }
        let mut bytes = vec![0; (len - header.head_at()) as usize];
        file.read_exact_at(&mut bytes, header.head_at()).ok()?;
        let tail = Tail::parse(&header, &bytes).ok()?;
        let encodings = tail.encodings.iter();
        let encodings = encodings.map(|(index, meta, bytes)| (*index, Box::from(*meta), bytes.len()));
        // A soft purge is written into the file later.
        let is_softened = self.shelf.catalogue.lock().softened.newest(name) > 0;
        let times = self.shelf.health.times_of(&header);
        Some(PageHead {
            key: tail.head.key.into(),
            meta: tail.head.meta.into(),
            selection: (header.family != 0).then(|| Selection {
                selector: tail.head.selector.into(),
                variant: tail.head.variant.into(),
            }),
            generation: header.generation,
            stored_at: times.stored_at,
            fresh_until: if is_softened { 0 } else { times.fresh_until },
            shift_ms: times.shift_ms,
            body_len: header.body_len,
            encodings: encodings.collect(),
            file: self.shelf.files.path(name),
        })
    }
}
