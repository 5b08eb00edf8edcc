//! Body that remains on disk and is read in pieces.

use std::fmt;
use std::fs::File;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::index::{FileName, ValueReceiver, value_channel};
use bytes::Bytes;

use crate::body_file::{BodyFile, DamagedBody};
use crate::file_store::FileStore;
use crate::format::{FormatError, Header, PIECE};
use crate::read::ReadFailure;

/// Body on disk without an open file. [`Self::open`] opens the file and checks that it still contains this body.
pub struct StoredBody {
    file_store: Arc<FileStore>,
    body_file: BodyFile,
}

impl StoredBody {
    pub(crate) fn new(file_store: &Arc<FileStore>, name: FileName, header: &Header) -> Arc<Self> {
        let place = BodyFile {
            name,
            key_hash: header.key_hash,
            generation: header.generation,
            len: header.body_len,
            pieces_sum: header.pieces_sum,
        };
        Arc::new(Self { file_store: Arc::clone(file_store), body_file: place })
    }

    /// Returns the length of the body in bytes.
    pub fn len(&self) -> u64 {
        self.body_file.len
    }

    /// Returns whether the body is empty. An empty body never remains on disk.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if both refer to the same bytes in the same file.
    pub fn is_same(&self, other: &StoredBody) -> bool {
        let is_it = |place: &BodyFile| (place.name, place.len, place.pieces_sum);
        is_it(&self.body_file) == is_it(&other.body_file)
    }

    /// Opens the body on a disk thread. The future returns `None` if the file was removed or replaced, cannot be read,
    /// or the read queue is full.
    pub fn open(self: &Arc<Self>) -> OpeningBody {
        let (giver, opened) = value_channel();
        let body = Arc::clone(self);
        let queued = self.file_store.pool.read(Box::new(move || {
            if let Some(open) = body.open_now() {
                giver.send(open);
            }
        }));
        OpeningBody(queued.ok().map(|()| opened))
    }

    /// Opens the body on the current thread, which must be a disk thread because this blocks. Returns `None` if the
    /// file was removed or replaced, or cannot be read.
    pub(crate) fn open_now(&self) -> Option<OpenBody> {
        let Self { file_store: shelf, body_file: place } = self;
        match place.open(&shelf.files) {
            Ok((file, sums)) => Some(OpenBody(Arc::new(Opened {
                file_store: Arc::clone(shelf),
                body_file: *place,
                file,
                sums,
            }))),
            Err(ReadFailure::Missing) => {
                shelf.check_presence(place.name);
                None
            }
            Err(ReadFailure::Invalid(_)) => {
                shelf.suspect(DamagedBody { body: *place, piece: None });
                None
            }
            Err(ReadFailure::Failed(error)) => {
                shelf.record_unreadable(place.name, place.key_hash, error);
                None
            }
        }
    }
}

impl fmt::Debug for StoredBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredBody")
            .field("name", &self.body_file.name)
            .field("generation", &self.body_file.generation)
            .field("len", &self.body_file.len)
            .finish_non_exhaustive()
    }
}

/// Future of an opened body; `None` if it cannot be opened.
pub struct OpeningBody(Option<ValueReceiver<OpenBody>>);

impl Future for OpeningBody {
    type Output = Option<OpenBody>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<OpenBody>> {
        match &mut self.0 {
            Some(ticket) => Pin::new(ticket).poll(cx),
            None => Poll::Ready(None),
        }
    }
}

struct Opened {
    file_store: Arc<FileStore>,
    body_file: BodyFile,
    file: File,
    sums: Box<[u64]>,
}

/// Body with an open file. It can be read to its end even if the file is removed or replaced meanwhile.
#[derive(Clone)]
pub struct OpenBody(Arc<Opened>);

impl OpenBody {
    /// Returns a reader of a byte range; the range is cut at the end of the body.
    pub fn read(&self, range: Range<u64>) -> BodyReader {
        let end = range.end.min(self.len());
        BodyReader { body: self.clone(), at: range.start.min(end), end, reading: None }
    }

    /// Returns the length of the body in bytes.
    pub fn len(&self) -> u64 {
        self.0.body_file.len
    }

    /// Returns whether the body is empty. An empty body never remains on disk.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads the verified bytes from `at` to the end of the piece that contains `at`, but not beyond `end`. Blocks.
    pub(crate) fn piece(&self, at: u64, end: u64) -> Result<Bytes, ReadError> {
        let Opened { file_store: shelf, body_file: place, file, sums } = &*self.0;
        let index = at / PIECE;
        match place.piece(&shelf.files, file, sums, index) {
            Ok(bytes) => {
                let start = index * PIECE;
                let rest = (at - start) as usize..((end - start) as usize).min(bytes.len());
                Ok(Bytes::from(bytes).slice(rest))
            }
            Err(ReadFailure::Failed(error)) => {
                let text = error.to_string();
                shelf.record_unreadable(place.name, place.key_hash, error);
                Err(ReadError(text))
            }
            Err(_) => {
                shelf.suspect(DamagedBody { body: *place, piece: Some(index) });
                Err(ReadError(FormatError::Damaged.to_string()))
            }
        }
    }
}

impl fmt::Debug for OpenBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenBody")
            .field("name", &self.0.body_file.name)
            .field("len", &self.0.body_file.len)
            .finish_non_exhaustive()
    }
}

/// Error message of a failed read of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError(pub String);

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ReadError {}

/// Reader of a byte range of a body. Reads one piece at a time, on disk threads.
pub struct BodyReader {
    body: OpenBody,
    at: u64,
    end: u64,
    reading: Option<ValueReceiver<Result<Bytes, ReadError>>>,
}

impl BodyReader {
    /// Returns the number of bytes of the range that have not been read.
    pub fn remaining(&self) -> u64 {
        self.end - self.at
    }

    /// Skips the next `bytes` bytes of the range without reading them.
    pub fn skip(&mut self, bytes: u64) {
        self.at = self.at.saturating_add(bytes).min(self.end);
        self.reading = None;
    }

    /// Polls for the next piece; `None` at the end of the range. A full read queue is an error.
    pub fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ReadError>>> {
        if self.at == self.end {
            return Poll::Ready(None);
        }
        let reading = self.reading.get_or_insert_with(|| {
            let (giver, reading) = value_channel();
            let (body, at, end) = (self.body.clone(), self.at, self.end);
            // A full queue drops the sender, which completes the wait with an error.
            let _ = self.body.0.file_store.pool.read(Box::new(move || giver.send(body.piece(at, end))));
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
