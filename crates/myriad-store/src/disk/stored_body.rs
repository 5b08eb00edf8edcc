//! A body that stays on disk and is read piece by piece.

use std::fmt;
use std::fs::File;
use std::future::Future;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;

use super::FormatError;
use super::faults::Operation;
use super::format::{HEADER, Header, PIECE, check_pieces, read_pieces};
use super::name::Name;
use super::read::{self, Unread};
use super::shelf::Shelf;
use super::ticket::{Ticket, ticket};

/// A body on disk. It holds no file open: [`Self::open`] finds it again, and knows whether it is the same.
pub struct StoredBody {
    shelf: Arc<Shelf>,
    name: Name,
    key_hash: u128,
    generation: u64,
    len: u64,
    pieces_sum: u64,
}

impl StoredBody {
    pub(crate) fn new(shelf: &Arc<Shelf>, name: Name, header: &Header) -> Arc<Self> {
        Arc::new(Self {
            shelf: Arc::clone(shelf),
            name,
            key_hash: header.key_hash,
            generation: header.generation,
            len: header.body_len,
            pieces_sum: header.pieces_sum,
        })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn is_same(&self, other: &StoredBody) -> bool {
        self.name == other.name && self.len == other.len && self.pieces_sum == other.pieces_sum
    }

    /// Opens it on a thread of the disk. `None` where it is gone, is another's by now, or cannot be read.
    pub fn open(self: &Arc<Self>) -> Opening {
        let (giver, opened) = ticket();
        let body = Arc::clone(self);
        let queued = self.shelf.pool.read(Box::new(move || {
            if let Some(open) = body.open_now() {
                giver.give(open);
            }
        }));
        Opening(queued.ok().map(|()| opened))
    }

    /// Opens it on this thread, which must be one of the disk's.
    pub(crate) fn open_now(&self) -> Option<OpenBody> {
        match self.try_open() {
            Ok(open) => Some(open),
            Err(Unread::Missing) => {
                self.shelf.check_presence(self.name);
                None
            }
            Err(Unread::Unfit(_)) => {
                self.damaged();
                None
            }
            Err(Unread::Failed(error)) => {
                self.shelf.unreadable(self.name, self.key_hash, error);
                None
            }
        }
    }

    fn try_open(&self) -> Result<OpenBody, Unread> {
        let file = read::open(&self.shelf, self.name)?;
        let (header, _) = read::header(&self.shelf, &file)?;
        // A file that was replaced is well, only not this one.
        if (header.body_len, header.pieces_sum) != (self.len, self.pieces_sum) {
            return Err(Unread::Missing);
        }
        let mut bytes = vec![0; (header.pieces() * 8) as usize];
        file.read_exact_at(&mut bytes, header.pieces_at())?;
        let sums = read_pieces(&header, &bytes)?;
        Ok(OpenBody(Arc::new(Opened {
            shelf: Arc::clone(&self.shelf),
            name: self.name,
            key_hash: self.key_hash,
            file,
            sums,
            len: self.len,
        })))
    }

    fn damaged(&self) {
        self.shelf.damaged.lock().push((self.name, self.key_hash));
        self.shelf.pool.rouse();
    }
}

impl fmt::Debug for StoredBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredBody")
            .field("name", &self.name)
            .field("generation", &self.generation)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

/// A body that is being opened.
pub struct Opening(Option<Ticket<OpenBody>>);

impl Future for Opening {
    type Output = Option<OpenBody>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<OpenBody>> {
        match &mut self.0 {
            Some(ticket) => Pin::new(ticket).poll(cx),
            None => Poll::Ready(None),
        }
    }
}

struct Opened {
    shelf: Arc<Shelf>,
    name: Name,
    key_hash: u128,
    file: File,
    sums: Box<[u64]>,
    len: u64,
}

/// A body whose file is open: it can be read to its end, whatever becomes of the name.
#[derive(Clone)]
pub struct OpenBody(Arc<Opened>);

impl OpenBody {
    /// Reads a stretch.
    pub fn read(&self, range: Range<u64>) -> BodyReader {
        let end = range.end.min(self.0.len);
        BodyReader { body: self.clone(), at: range.start.min(end), end, reading: None }
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.0.len
    }

    /// Whether there are no bytes; a body without any is never left on disk.
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// The rest of the piece in which `at` lies, up to `end`, verified.
    pub(crate) fn piece(&self, at: u64, end: u64) -> Result<Bytes, ReadError> {
        let opened = &self.0;
        let index = at / PIECE;
        let start = index * PIECE;
        let mut bytes = vec![0; (opened.len - start).min(PIECE) as usize];
        let faults = opened.shelf.faults.pass(Operation::Read, &opened.shelf.root);
        let read = faults.and_then(|()| opened.file.read_exact_at(&mut bytes, HEADER as u64 + start));
        let sums = opened.sums.get(index as usize..=index as usize).unwrap_or_default();
        match read.map_err(Unread::from).and_then(|()| Ok(check_pieces(&bytes, sums)?)) {
            Ok(()) => {
                let rest = (at - start) as usize..((end - start) as usize).min(bytes.len());
                Ok(Bytes::from(bytes).slice(rest))
            }
            Err(Unread::Failed(error)) => {
                let text = error.to_string();
                opened.shelf.unreadable(opened.name, opened.key_hash, error);
                Err(ReadError(text))
            }
            Err(_) => {
                opened.shelf.damaged.lock().push((opened.name, opened.key_hash));
                opened.shelf.pool.rouse();
                Err(ReadError(FormatError::Damaged.to_string()))
            }
        }
    }
}

impl fmt::Debug for OpenBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenBody")
            .field("name", &self.0.name)
            .field("len", &self.0.len)
            .finish_non_exhaustive()
    }
}

/// Why a body broke off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError(pub String);

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ReadError {}

/// Reads a stretch of a body, a piece at a time, on threads of the disk.
pub struct BodyReader {
    body: OpenBody,
    at: u64,
    end: u64,
    reading: Option<Ticket<Result<Bytes, ReadError>>>,
}

impl BodyReader {
    /// Bytes still to come.
    pub fn left(&self) -> u64 {
        self.end - self.at
    }

    /// Passes over bytes without reading them.
    pub fn skip(&mut self, bytes: u64) {
        self.at = self.at.saturating_add(bytes).min(self.end);
        self.reading = None;
    }

    /// Waits for the next piece; `None` at the end.
    pub fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ReadError>>> {
        if self.at == self.end {
            return Poll::Ready(None);
        }
        let reading = self.reading.get_or_insert_with(|| {
            let (giver, reading) = ticket();
            let (body, at, end) = (self.body.clone(), self.at, self.end);
            // A full queue drops the giver, which ends the wait with an error.
            let _ = self.body.0.shelf.pool.read(Box::new(move || giver.give(body.piece(at, end))));
            reading
        });
        let read = ready!(Pin::new(reading).poll(cx));
        self.reading = None;
        let read = read.unwrap_or_else(|| Err(ReadError("the disk has too much to do".to_owned())));
        if let Ok(bytes) = &read {
            self.at += bytes.len() as u64;
        }
        Poll::Ready(Some(read))
    }
}

impl fmt::Debug for BodyReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyReader").field("at", &self.at).field("end", &self.end).finish_non_exhaustive()
    }
}
