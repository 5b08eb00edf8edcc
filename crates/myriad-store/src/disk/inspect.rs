//! Inspection of files, without loading objects into the memory tier.

use std::path::PathBuf;

use myriad_disk::index::FileName;

use super::tier::DiskTier;
use crate::{Metadata, Selection};

/// Description of a page in a file, without the bodies.
#[derive(Debug)]
pub struct DiskPage<M: Metadata> {
    /// Key.
    pub key: Box<[u8]>,
    /// Caller's metadata.
    pub meta: M,
    /// Variant of the key.
    pub selection: Option<Selection>,
    /// Sequence number at the start of its fetch.
    pub generation: u64,
    /// Time of completion, in milliseconds.
    pub stored_at: u64,
    /// Time until which it is fresh, in milliseconds.
    pub fresh_until: u64,
    /// Length of the body, in bytes.
    pub body_len: u64,
    /// Alternative encodings: index, metadata, length in bytes.
    pub encodings: Vec<(u8, M::EncodingMeta, usize)>,
    /// Path of the file.
    pub file: PathBuf,
}

impl<M: Metadata> DiskTier<M> {
    /// Reads the description of the page in a file.
    pub(crate) fn read_page(&self, name: FileName) -> Option<DiskPage<M>> {
        let head = self.disk.read_head(name)?;
        let encodings = head.encodings.into_iter();
        let encodings =
            encodings.map(|(index, meta, len)| Some((index, (self.codec.decode_alternative)(&meta)?, len)));
        Some(DiskPage {
            key: head.key,
            meta: self.decode(&head.meta, head.shift_ms)?,
            selection: head.selection,
            generation: head.generation,
            stored_at: head.stored_at,
            fresh_until: head.fresh_until,
            body_len: head.body_len,
            encodings: encodings.collect::<Option<_>>()?,
            file: head.file,
        })
    }
}
