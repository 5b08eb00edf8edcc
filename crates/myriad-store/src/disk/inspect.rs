//! Files as what they hold, for people to see: read without becoming objects of the memory tier.

use std::path::PathBuf;

use myriad_index::Name;

use super::tier::Tier;
use crate::{Metadata, Selection};

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
    /// The other encodings: index, metadata, length in bytes.
    pub encodings: Vec<(u8, M::Alternative, usize)>,
    /// The file.
    pub file: PathBuf,
}

impl<M: Metadata> Tier<M> {
    /// Reads what a file says of its page.
    pub(crate) fn read_page(&self, name: Name) -> Option<DiskPage<M>> {
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
