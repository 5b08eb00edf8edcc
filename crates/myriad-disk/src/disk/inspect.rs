//! Inspection of files, without loading their pages into the memory tier.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

use crate::index::{FileName, HashedKeyRef, Selection};

use super::DiskStore;
use crate::file_index::FileRole;
use crate::format::{ContentKind, TailSections};
use crate::page::PageHead;
use crate::read;

/// Number of files collected while the file index is locked once.
const FILES_PER_LOCK: usize = 64;
/// Maximum length of the sections around a body (labels to encodings) that are read to inspect a page, in bytes.
const MAX_AROUND_BODY: u64 = 64 << 20;

impl DiskStore {
    /// Returns the page files in `count` slots of the file index from `slot` on, and the slot to continue at (`None` at
    /// the end).
    pub fn files(&self, slot: u32, count: u32) -> (Vec<FileName>, Option<u32>) {
        let file_index = self.file_store.file_index.lock();
        let end = slot.saturating_add(count).min(file_index.slots());
        let pages =
            (slot..end).filter_map(|slot| file_index.at(slot)).filter(|filed| filed.role != FileRole::Marker);
        (pages.map(|filed| filed.name).collect(), (end < file_index.slots()).then_some(end))
    }

    /// Returns the names of all files with pages of a key, as far as the file index contains them.
    pub fn files_of(&self, key: HashedKeyRef<'_>) -> Vec<FileName> {
        let file_index = self.file_store.file_index.lock();
        let pages = file_index.files_of_hash(key.hash()).filter(|filed| filed.role != FileRole::Marker);
        pages.map(|filed| filed.name).collect()
    }

    /// Returns the files whose pages have a label, which is the hash of a URL or tag by which purges find pages.
    pub fn files_with_label(&self, label: u64) -> Vec<FileName> {
        let (mut names, mut after) = (Vec::new(), None);
        loop {
            let (next, filed) =
                self.file_store.file_index.lock().files_with_label(label, after, u64::MAX, FILES_PER_LOCK);
            names.extend(filed.into_iter().map(|filed| filed.name));
            after = next;
            if after.is_none() {
                return names;
            }
        }
    }

    /// Returns the path of a page's file, or `None` if the index does not contain it. `variant` is `None` for a key
    /// without variants.
    pub fn file_of(&self, key: HashedKeyRef<'_>, variant: Option<&[u8]>) -> Option<PathBuf> {
        let file_index = self.file_store.file_index.lock();
        let main = FileName::of_key(key.bytes());
        let name = match variant {
            None => main,
            Some(variant) => FileName::of_variant(key.bytes(), file_index.marker(main)?.family, variant),
        };
        file_index.find(name).map(|_| self.file_store.files.path(name))
    }

    /// Reads the page in a file except the bytes of its body and encodings. Returns `None` if the file is unreadable,
    /// invalid, a marker, or from before the zone was cleared, or has more than 64 MB besides the body. Other hard
    /// purges are not checked.
    pub fn read_head(&self, name: FileName) -> Option<PageHead> {
        let file = read::open(&self.file_store.files, name).ok()?;
        let (header, len) = read::header(&self.file_store.files, &file).ok()?;
        let is_void = header.generation < self.file_store.files.barrier.load(Relaxed);
        if header.kind != ContentKind::Object || is_void || len - header.head_at() > MAX_AROUND_BODY {
            return None;
        }
        let mut bytes = vec![0; (len - header.head_at()) as usize];
        file.read_exact_at(&mut bytes, header.head_at()).ok()?;
        let tail = TailSections::parse(&header, &bytes).ok()?;
        let encodings = tail.encodings.iter();
        let encodings = encodings.map(|(index, meta, bytes)| (*index, Box::from(*meta), bytes.len()));
        // Soft purges are written into files later, so the file may still contain the former `fresh_until`.
        let is_softened = self.file_store.file_index.lock().softened.newest(name) > 0;
        let times = self.file_store.health.times_of(&header);
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
            file: self.file_store.files.path(name),
        })
    }
}
