//! Body that remains on disk and is read in pieces.

use std::fmt;
use std::fs::File;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::index::{Name, Ticket, ticket};
use bytes::Bytes;

use crate::body_file::{BodyFile, Damage};
use crate::format::{FormatError, Header, PIECE};
use crate::read::Unread;
use crate::shelf::Shelf;

/// Body on disk. It has no open file: [`Self::open`] opens the file, and checks that it is the same body.
pub struct StoredBody {
    shelf: Arc<Shelf>,
    place: BodyFile,
}

impl StoredBody {
    pub(crate) fn new(shelf: &Arc<Shelf>, name: Name, header: &Header) -> Arc<Self> {
        let place = BodyFile {
            name,
            key_hash: header.key_hash,
            generation: header.generation,
            len: header.body_len,
            pieces_sum: header.pieces_sum,
        };
        Arc::new(Self { shelf: Arc::clone(shelf), place })
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> u64 {
        self.place.len
    }

    /// Returns whether the body is empty. An empty body never remains on disk.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether both are the same bytes in the same file.
    pub fn is_same(&self, other: &StoredBody) -> bool {
        let is_it = |place: &BodyFile| (place.name, place.len, place.pieces_sum);
        is_it(&self.place) == is_it(&other.place)
    }

    /// Opens the body on a disk thread. `None` if it was removed or replaced, or cannot be read.
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

    /// Opens the body on this thread, which must be a disk thread.
    pub(crate) fn open_now(&self) -> Option<OpenBody> {
        let Self { shelf, place } = self;
        match place.open(&shelf.files) {
            Ok((file, sums)) => {
                Some(OpenBody(Arc::new(Opened { shelf: Arc::clone(shelf), place: *place, file, sums })))
            }
            Err(Unread::Missing) => {
                shelf.check_presence(place.name);
                None
            }
            Err(Unread::Unfit(_)) => {
                shelf.suspect(Damage { body: *place, piece: None });
                None
            }
            Err(Unread::Failed(error)) => {
                shelf.unreadable(place.name, place.key_hash, error);
                None
            }
        }
    }
}

impl fmt::Debug for StoredBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredBody")
            .field("name", &self.place.name)
            .field("generation", &self.place.generation)
            .field("len", &self.place.len)
            .finish_non_exhaustive()
    }
}

/// Body that is being opened.
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
    place: BodyFile,
    file: File,
    sums: Box<[u64]>,
}

/// Body with an open file, which can be read to its end even if the file is removed or replaced.
#[derive(Clone)]
pub struct OpenBody(Arc<Opened>);

impl OpenBody {
    /// Returns a reader of a range.
    pub fn read(&self, range: Range<u64>) -> BodyReader {
        let end = range.end.min(self.len());
        BodyReader { body: self.clone(), at: range.start.min(end), end, reading: None }
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> u64 {
        self.0.place.len
    }

    /// Returns whether the body is empty. An empty body never remains on disk.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the verified bytes from `at` to the end of their piece, or to `end`.
    pub(crate) fn piece(&self, at: u64, end: u64) -> Result<Bytes, ReadError> {
        let Opened { shelf, place, file, sums } = &*self.0;
        let index = at / PIECE;
        match place.piece(&shelf.files, file, sums, index) {
            Ok(bytes) => {
                let start = index * PIECE;
                let rest = (at - start) as usize..((end - start) as usize).min(bytes.len());
                Ok(Bytes::from(bytes).slice(rest))
            }
            Err(Unread::Failed(error)) => {
                let text = error.to_string();
                shelf.unreadable(place.name, place.key_hash, error);
                Err(ReadError(text))
            }
            Err(_) => {
                shelf.suspect(Damage { body: *place, piece: Some(index) });
                Err(ReadError(FormatError::Damaged.to_string()))
            }
        }
    }
}

impl fmt::Debug for OpenBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenBody")
            .field("name", &self.0.place.name)
            .field("len", &self.0.place.len)
            .finish_non_exhaustive()
    }
}

/// Reason why reading a body failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError(pub String);

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ReadError {}

/// Reader of a range of a body, one piece at a time, on disk threads.
pub struct BodyReader {
    body: OpenBody,
    at: u64,
    end: u64,
    reading: Option<Ticket<Result<Bytes, ReadError>>>,
}

impl BodyReader {
    /// Returns the number of remaining bytes.
    pub fn left(&self) -> u64 {
        self.end - self.at
    }

    /// Skips bytes without reading them.
    pub fn skip(&mut self, bytes: u64) {
        self.at = self.at.saturating_add(bytes).min(self.end);
        self.reading = None;
    }

    /// Polls for the next piece; `None` at the end.
    pub fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ReadError>>> {
        if self.at == self.end {
            return Poll::Ready(None);
        }
        let reading = self.reading.get_or_insert_with(|| {
            let (giver, reading) = ticket();
            let (body, at, end) = (self.body.clone(), self.at, self.end);
            // A full queue drops the giver, which completes the wait with an error.
            let _ = self.body.0.shelf.pool.read(Box::new(move || giver.give(body.piece(at, end))));
            reading
        });
        let read = ready!(Pin::new(reading).poll(cx));
        self.reading = None;
        let read = read.unwrap_or_else(|| Err(ReadError("the disk is overloaded".to_owned())));
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
