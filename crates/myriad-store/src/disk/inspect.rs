//! Files as what they hold, for people to see: read without becoming pages of the memory tier.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

use super::catalogue::Role;
use super::format::{Kind, Tail};
use super::name::Name;
use super::read;
use super::tier::Tier;
use crate::key::Hashed;
use crate::{Metadata, Selection};

/// Files that are looked for under one lock.
const LABELLED: usize = 64;
/// Bytes around a body that are read to look at a page.
const MOST_AROUND: u64 = 64 << 20;

/// What a file says of its page, the bodies left out.
#[derive(Debug)]
pub struct DiskPage<M: Metadata> {
    /// The key.
    pub key: Box<[u8]>,
    /// The caller's metadata.
    pub meta: M,
    /// Which variant of the key it is.
    pub selection: Option<Selection>,
    /// The sequence number at which its fetch began.
    pub generation: u64,
    /// When it was completed, in ms.
    pub stored_at: u64,
    /// When it stops being fresh, in ms.
    pub fresh_until: u64,
    /// Bytes of the body.
    pub body_len: u64,
    /// The other encodings: index, metadata, bytes.
    pub encodings: Vec<(u8, M::Alternative, usize)>,
    /// The file.
    pub file: PathBuf,
}

impl<M: Metadata> Tier<M> {
    /// The pages among some slots of the catalogue, and the slot to go on at; `None` at the end.
    pub(crate) fn files(&self, slot: u32, count: u32) -> (Vec<Name>, Option<u32>) {
        let catalogue = self.shelf.catalogue.lock();
        let end = slot.saturating_add(count).min(catalogue.slots());
        let pages =
            (slot..end).filter_map(|slot| catalogue.at(slot)).filter(|filed| filed.role != Role::Marker);
        (pages.map(|filed| filed.name).collect(), (end < catalogue.slots()).then_some(end))
    }

    /// The files of a key's pages, as far as they are known.
    pub(crate) fn files_of(&self, key: Hashed<'_>) -> Vec<Name> {
        let catalogue = self.shelf.catalogue.lock();
        let pages = catalogue.of_hash(key.hash()).filter(|filed| filed.role != Role::Marker);
        pages.map(|filed| filed.name).collect()
    }

    /// The files of pages that bear a label.
    pub(crate) fn files_bearing(&self, label: u64) -> Vec<Name> {
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

    /// The file of one page, where it is known to have one.
    pub(crate) fn file_of(&self, key: Hashed<'_>, variant: Option<&[u8]>) -> Option<PathBuf> {
        let catalogue = self.shelf.catalogue.lock();
        let main = Name::of_key(key.bytes());
        let name = match variant {
            None => main,
            Some(variant) => Name::of_variant(key.bytes(), catalogue.marker(main)?.family, variant),
        };
        catalogue.find(name).map(|_| self.shelf.files.path(name))
    }

    /// Reads what a file says of its page.
    pub(crate) fn read_page(&self, name: Name) -> Option<DiskPage<M>> {
        let file = read::open(&self.shelf.files, name).ok()?;
        let (header, len) = read::header(&self.shelf.files, &file).ok()?;
        let is_void = header.generation < self.shelf.files.barrier.load(Relaxed);
        if header.kind != Kind::Object || is_void || len - header.head_at() > MOST_AROUND {
            return None;
        }
        let mut bytes = vec![0; (len - header.head_at()) as usize];
        file.read_exact_at(&mut bytes, header.head_at()).ok()?;
        let tail = Tail::parse(&header, &bytes).ok()?;
        let encodings = tail
            .encodings
            .iter()
            .map(|(index, meta, bytes)| Some((*index, (self.codec.decode_alternative)(meta)?, bytes.len())));
        let selection = (header.family != 0)
            .then(|| Selection { selector: tail.head.selector.into(), variant: tail.head.variant.into() });
        Some(DiskPage {
            key: tail.head.key.into(),
            meta: (self.codec.decode)(tail.head.meta)?,
            selection,
            generation: header.generation,
            stored_at: header.stored_at,
            // A soft purge is written into the file later.
            fresh_until: if self.shelf.catalogue.lock().softened_by(name) > 0 {
                0
            } else {
                header.fresh_until
            },
            body_len: header.body_len,
            encodings: encodings.collect::<Option<_>>()?,
            file: self.shelf.files.path(name),
        })
    }
}
