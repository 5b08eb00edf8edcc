//! Response body of which the first bytes have been read in advance.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use myriad_http::body::{Body, BodyError, BoxBody};

/// Reason why a body was not read completely.
pub(super) enum BodyReadFailure {
    /// The body has more bytes than the caller permits.
    TooLong,
    /// The body was aborted by its source.
    Broken,
}

/// Body that has been read partially in advance. As a [`Body`], it yields all bytes, including those already read.
pub(super) struct PartialBody {
    read: VecDeque<Bytes>,
    rest: BoxBody,
    is_complete: bool,
}

impl PartialBody {
    pub(super) fn new(body: BoxBody) -> Self {
        Self { read: VecDeque::new(), rest: body, is_complete: false }
    }

    /// Returns the number of bytes that have been read.
    fn length(&self) -> usize {
        self.read.iter().map(Bytes::len).sum()
    }

    /// Reads until `wanted` bytes are available or the body is complete. Returns an error if the source aborts the
    /// body.
    pub(super) async fn read(&mut self, wanted: usize) -> Result<(), BodyError> {
        let mut length = self.length();
        while !self.is_complete && length < wanted {
            match poll_fn(|cx| self.rest.as_mut().poll_data(cx)).await {
                Some(piece) => {
                    let piece = piece?;
                    length += piece.len();
                    self.read.push_back(piece);
                }
                None => self.is_complete = true,
            }
        }
        Ok(())
    }

    /// Returns a copy of the first bytes of the body that have been read, at most `wanted` bytes.
    pub(super) fn first(&self, wanted: usize) -> Vec<u8> {
        self.read.iter().flatten().copied().take(wanted).collect()
    }

    /// Reads the complete body. Returns an error if it has more than `most` bytes or is aborted.
    pub(super) async fn whole(mut self, most: u64) -> Result<Bytes, BodyReadFailure> {
        let room = usize::try_from(most).unwrap_or(usize::MAX);
        self.read(room.saturating_add(1)).await.map_err(|_| BodyReadFailure::Broken)?;
        if self.length() > room {
            return Err(BodyReadFailure::TooLong);
        }
        if let (1, Some(only)) = (self.read.len(), self.read.front()) {
            return Ok(only.clone());
        }
        Ok(self.read.iter().flatten().copied().collect())
    }
}

impl Body for PartialBody {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match self.read.pop_front() {
            Some(piece) => Poll::Ready(Some(Ok(piece))),
            None if self.is_complete => Poll::Ready(None),
            None => self.rest.as_mut().poll_data(cx),
        }
    }

    fn size_hint(&self) -> Option<u64> {
        let rest = if self.is_complete { Some(0) } else { self.rest.size_hint() };
        rest.map(|rest| rest + self.length() as u64)
    }
}
