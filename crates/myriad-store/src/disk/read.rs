//! Files read back.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;

use super::FormatError;
use super::faults::Operation;
use super::format::{HEADER, Head, Header, Kind, Tail, Whole, read_labels, read_pieces};
use super::name::Name;
use super::shelf::{Shelf, is_large};
use super::stored_body::StoredBody;
use crate::Body;

/// Most bytes around a body: what no honest file exceeds.
const MOST_AROUND: u64 = 256 << 20;

/// Why a file gave nothing.
#[derive(Debug)]
pub(crate) enum Unread {
    Missing,
    Unfit(FormatError),
    Failed(io::Error),
}

impl From<FormatError> for Unread {
    fn from(error: FormatError) -> Self {
        Self::Unfit(error)
    }
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Self::Missing,
            // Cut short between its length being read and its bytes.
            ErrorKind::UnexpectedEof => Self::Unfit(FormatError::Length),
            _ => Self::Failed(error),
        }
    }
}

/// A file that was read.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) header: Header,
    pub(crate) labels: Box<[u64]>,
    pub(crate) key: Box<[u8]>,
    pub(crate) selector: Box<[u8]>,
    pub(crate) variant: Box<[u8]>,
    pub(crate) meta: Box<[u8]>,
    pub(crate) encodings: Vec<(u8, Box<[u8]>, Bytes)>,
    pub(crate) body: Body,
    /// Bytes of the file.
    pub(crate) len: u64,
}

/// Opens a file without following a link that somebody put in its place.
pub(crate) fn open(shelf: &Shelf, name: Name) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let path = shelf.path(name);
    shelf.faults.pass(Operation::Open, &path)?;
    File::options().read(true).custom_flags(flags.bits() as i32).open(path)
}

/// Reads and checks a header.
pub(crate) fn header(shelf: &Shelf, file: &File) -> Result<(Header, u64), Unread> {
    let known = file.metadata()?;
    if !known.is_file() {
        return Err(FormatError::Foreign.into());
    }
    let mut bytes = [0; HEADER];
    shelf.faults.pass(Operation::Read, &shelf.root)?;
    file.read_exact_at(&mut bytes, 0)?;
    Ok((Header::parse(&bytes, known.len(), shelf.version)?, known.len()))
}

/// Reads the hash of the variant and the labels behind a header.
pub(crate) fn labels(file: &File, header: &Header) -> Result<(u64, Box<[u64]>), Unread> {
    let mut bytes = vec![0; header.labels_len as usize];
    file.read_exact_at(&mut bytes, header.head_at())?;
    Ok(read_labels(&bytes)?)
}

/// Reads what a file says of its object, and hands it to `judge`.
pub(crate) fn head<T>(
    shelf: &Shelf,
    name: Name,
    judge: impl FnOnce(&Header, &Head<'_>) -> T,
) -> Result<T, Unread> {
    let file = open(shelf, name)?;
    let (header, _) = header(shelf, &file)?;
    if header.head_len() > MOST_AROUND {
        return Err(FormatError::Length.into());
    }
    let mut bytes = vec![0; header.head_len() as usize];
    file.read_exact_at(&mut bytes, header.head_at())?;
    let head = Head::parse(&header, &bytes)?;
    Ok(judge(&header, &head))
}

/// Reads a file. A body of more than `most_in_memory` bytes stays where it is, to be read in pieces.
pub(crate) fn load(shelf: &Arc<Shelf>, name: Name, most_in_memory: u64) -> Result<Loaded, Unread> {
    let file = open(shelf, name)?;
    let (header, len) = header(shelf, &file)?;
    if len - header.body_len > MOST_AROUND {
        return Err(FormatError::Length.into());
    }
    if is_large(header.body_len, most_in_memory) {
        return load_large(shelf, name, &file, header, len);
    }
    let mut bytes = vec![0; len as usize];
    file.read_exact_at(&mut bytes, 0)?;
    // The header is taken from these bytes anew: the file may have been overwritten in between.
    let Whole { header, body, tail } = Whole::parse(&bytes, shelf.version)?;
    let body = Body::compact([&Bytes::copy_from_slice(body)], body.len() as u64);
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
    let body = Body::on_disk(StoredBody::new(shelf, name, &header));
    Ok(loaded(header, &tail, body, len))
}

fn loaded(header: Header, tail: &Tail<'_>, body: Body, len: u64) -> Loaded {
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

/// What the marker of a key says, if there is one on disk.
pub(crate) fn marker(shelf: &Arc<Shelf>, main: Name, key: &[u8]) -> Option<(Arc<[u8]>, u64)> {
    let loaded = load(shelf, main, 0).ok()?;
    (loaded.header.kind == Kind::Marker && *loaded.key == *key)
        .then(|| (loaded.selector.into(), loaded.header.family))
}
