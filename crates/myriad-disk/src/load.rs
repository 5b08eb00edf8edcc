//! Loading of a whole page file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::index::{FileName, Selection};
use bytes::Bytes;

use crate::file_store::FileStore;
use crate::format::{ContentKind, FormatError, Header, PIECE, TailSections, WholeFile, read_pieces};
use crate::health::FolderHealth;
use crate::page::{PageBody, ReadPage};
use crate::read::{MAX_AROUND_BODY, ReadFailure, header, open};
use crate::stored_body::StoredBody;

/// Contents of a page file that was read and verified.
#[derive(Debug)]
pub(crate) struct LoadedFile {
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

impl LoadedFile {
    /// Converts a file that is not a marker to a page, with times of this process's clock.
    pub(crate) fn into_page(self, health: &FolderHealth) -> ReadPage {
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

/// Returns true if a body of this length is left on disk and read in pieces.
fn is_large(body_len: u64, most_in_memory: u64) -> bool {
    body_len > most_in_memory.max(PIECE)
}

/// Reads and verifies a page file. A body longer than both `most_in_memory` and [`PIECE`] bytes is left on disk
/// unverified, to be read in pieces. Fails with `Invalid` if the file is damaged, of another program, version or hash
/// seed, or has more than [`MAX_AROUND_BODY`] bytes besides the body.
pub(crate) fn load(
    file_store: &Arc<FileStore>,
    name: FileName,
    most_in_memory: u64,
) -> Result<LoadedFile, ReadFailure> {
    let file = open(&file_store.files, name)?;
    let (header, len) = header(&file_store.files, &file)?;
    if len - header.body_len > MAX_AROUND_BODY {
        return Err(FormatError::Length.into());
    }
    if is_large(header.body_len, most_in_memory) {
        return load_large(file_store, name, &file, header, len);
    }
    let mut bytes = vec![0; len as usize];
    file.read_exact_at(&mut bytes, 0)?;
    // The header is parsed from these bytes again: the file may have been overwritten meanwhile.
    let WholeFile { header, body, tail } = WholeFile::parse(&bytes, file_store.files.version)?;
    let body = PageBody::Whole(Bytes::copy_from_slice(body));
    Ok(loaded(header, &tail, body, len))
}

fn load_large(
    file_store: &Arc<FileStore>,
    name: FileName,
    file: &File,
    header: Header,
    len: u64,
) -> Result<LoadedFile, ReadFailure> {
    let mut bytes = vec![0; (len - header.pieces_at()) as usize];
    file.read_exact_at(&mut bytes, header.pieces_at())?;
    let (pieces, tail) = bytes.split_at((header.pieces() * 8) as usize);
    read_pieces(&header, pieces)?;
    let tail = TailSections::parse(&header, tail)?;
    let body = PageBody::Stored(StoredBody::new(file_store, name, &header));
    Ok(loaded(header, &tail, body, len))
}

fn loaded(header: Header, tail: &TailSections<'_>, body: PageBody, len: u64) -> LoadedFile {
    let encodings = tail.encodings.iter();
    LoadedFile {
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

/// Returns the selector and family number in a key's marker file; `None` if the key has no readable marker file.
pub(crate) fn marker(file_store: &Arc<FileStore>, main: FileName, key: &[u8]) -> Option<(Arc<[u8]>, u64)> {
    let loaded = load(file_store, main, 0).ok()?;
    (loaded.header.kind == ContentKind::Marker && *loaded.key == *key)
        .then(|| (loaded.selector.into(), loaded.header.family))
}
