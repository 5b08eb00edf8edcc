//! Reading of whole files into the parts of their pages.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::index::{Name, Selection};
use bytes::Bytes;

use crate::format::{FormatError, Header, Kind, PIECE, Tail, Whole, read_pieces};
use crate::health::Health;
use crate::page::{PageBody, ReadPage};
use crate::read::{MOST_AROUND, Unread, header, open};
use crate::shelf::Shelf;
use crate::stored_body::StoredBody;

/// File that was read.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) header: Header,
    pub(crate) labels: Box<[u64]>,
    pub(crate) key: Box<[u8]>,
    pub(crate) selector: Box<[u8]>,
    pub(crate) variant: Box<[u8]>,
    pub(crate) meta: Box<[u8]>,
    pub(crate) encodings: Vec<(u8, Box<[u8]>, Bytes)>,
    pub(crate) body: PageBody,
    /// Length of the file, in bytes.
    pub(crate) len: u64,
}

impl Loaded {
    /// Returns the page of a file that is not a marker, with its times converted to the clock of this process.
    pub(crate) fn into_page(self, health: &Health) -> ReadPage {
        let header = self.header;
        let times = health.times_of(&header);
        ReadPage {
            meta: self.meta,
            selection: (header.family != 0)
                .then(|| Selection { selector: self.selector.into(), variant: self.variant.into() }),
            generation: header.generation,
            stored_at: times.stored_at,
            fresh_until: times.fresh_until,
            shift_ms: times.shift_ms,
            encodings: self.encodings,
            body: self.body,
        }
    }
}

/// Returns whether a body remains on disk instead of being read at once.
fn is_large(body_len: u64, most_in_memory: u64) -> bool {
    body_len > most_in_memory.max(PIECE)
}

/// Reads a file. A body of more than `most_in_memory` bytes remains on disk and is read in pieces.
pub(crate) fn load(shelf: &Arc<Shelf>, name: Name, most_in_memory: u64) -> Result<Loaded, Unread> {
    let file = open(&shelf.files, name)?;
    let (header, len) = header(&shelf.files, &file)?;
    if len - header.body_len > MOST_AROUND {
        return Err(FormatError::Length.into());
    }
    if is_large(header.body_len, most_in_memory) {
        return load_large(shelf, name, &file, header, len);
    }
    let mut bytes = vec![0; len as usize];
    file.read_exact_at(&mut bytes, 0)?;
    // The header is parsed from these bytes again: the file may have been overwritten meanwhile.
    let Whole { header, body, tail } = Whole::parse(&bytes, shelf.files.version)?;
    let body = PageBody::Whole(Bytes::copy_from_slice(body));
    Ok(loaded(header, &tail, body, len))
}

fn load_large(
    shelf: &Arc<Shelf>,
    name: Name,
    file: &File,
    header: Header,
    len: u64,
) -> Result<Loaded, Unread> {
    let mut bytes = vec![0; (len - header.pieces_at()) as usize];
    file.read_exact_at(&mut bytes, header.pieces_at())?;
    let (pieces, tail) = bytes.split_at((header.pieces() * 8) as usize);
    read_pieces(&header, pieces)?;
    let tail = Tail::parse(&header, tail)?;
    let body = PageBody::Stored(StoredBody::new(shelf, name, &header));
    Ok(loaded(header, &tail, body, len))
}

fn loaded(header: Header, tail: &Tail<'_>, body: PageBody, len: u64) -> Loaded {
    let encodings = tail.encodings.iter();
    Loaded {
        header,
        labels: tail.head.labels.clone(),
        key: tail.head.key.into(),
        selector: tail.head.selector.into(),
        variant: tail.head.variant.into(),
        meta: tail.head.meta.into(),
        encodings: encodings
            .map(|(index, meta, bytes)| (*index, Box::from(*meta), Bytes::copy_from_slice(bytes)))
            .collect(),
        body,
        len,
    }
}

/// Returns the selector and family of a key's marker, if it exists on disk.
pub(crate) fn marker(shelf: &Arc<Shelf>, main: Name, key: &[u8]) -> Option<(Arc<[u8]>, u64)> {
    let loaded = load(shelf, main, 0).ok()?;
    (loaded.header.kind == Kind::Marker && *loaded.key == *key)
        .then(|| (loaded.selector.into(), loaded.header.family))
}
