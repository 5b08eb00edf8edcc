//! Inspection of files without loading their pages into memory.

use std::path::PathBuf;

use myriad_disk::index::FileName;

use super::tier::DiskTier;
use crate::{Metadata, Selection};

/// Description of the page in a file, without body and bytes of encodings.
#[derive(Debug)]
pub struct DiskPage<M: Metadata> {
    /// Key of the page.
    pub key: Box<[u8]>,
    /// Caller's metadata of the page.
    pub meta: M,
    /// Variant of the page; `None` if the key has no variants.
    pub selection: Option<Selection>,
    /// Sequence number at the start of the page's fetch.
    pub generation: u64,
    /// Time at which the page was complete, in milliseconds.
    pub stored_at: u64,
    /// Time until which the page is fresh, in milliseconds. After a soft purge it is 0 or, if the file was written
    /// after the purge, at most the time from which the purge makes its pages stale.
    pub fresh_until: u64,
    /// Length of the page's body, in bytes.
    pub body_len: u64,
    /// Alternative encodings of the body (such as gzip): index, metadata, length in bytes.
    pub encodings: Vec<(u8, M::EncodingMeta, usize)>,
    /// Path of the page's file.
    pub file: PathBuf,
}

impl<M: Metadata> DiskTier<M> {
    /// Reads the description of the page in a file; `None` if the file cannot be read or decoded, or has no page.
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
