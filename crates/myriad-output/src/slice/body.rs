//! Body of a response in slices. Each slice is requested after the previous one has been sent.

use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use myriad_http::body::{Body, BodyError, BoxBody};
use myriad_log::LogLevel;

use super::part::part;
use myriad_exchange::exchange::{Exchange, Slice};
use myriad_exchange::subrequest::{self, SubrequestFuture, SubrequestResponse};

/// Complete representation to which the slices belong.
pub(super) struct WholeRepresentation {
    /// `slice`: size of a slice, in bytes.
    pub(super) size: u64,
    /// Total size of the representation, in bytes.
    pub(super) complete: u64,
    /// Entity tag that each slice must have; `None` if the first slice has none.
    pub(super) tag: Option<Vec<u8>>,
}

/// Slice that is being read.
pub(super) struct SliceInProgress {
    body: BoxBody,
    /// Range of the slice that was not read yet, as positions in the complete representation.
    rest: Range<u64>,
}

impl SliceInProgress {
    pub(super) fn new(body: BoxBody, range: Range<u64>) -> Self {
        Self { body, rest: range }
    }
}

enum SliceState {
    Reading(SliceInProgress),
    Asking(SubrequestFuture),
    Between,
}

/// Body of a range of the complete representation, joined from slices.
pub(super) struct SliceBody {
    exchange: Box<Exchange>,
    whole: WholeRepresentation,
    /// Part of the requested range that has not been sent yet.
    wanted: Range<u64>,
    state: SliceState,
}

impl SliceBody {
    pub(super) fn new(
        exchange: Box<Exchange>,
        whole: WholeRepresentation,
        wanted: Range<u64>,
        first: SliceInProgress,
    ) -> Self {
        // The requested range may start after the first slice, if this slice was requested only for its validators and
        // length.
        let state =
            if first.rest.contains(&wanted.start) { SliceState::Reading(first) } else { SliceState::Between };
        Self { exchange, whole, wanted, state }
    }

    /// Requests the slice that contains the next byte to send. Returns an error if the request has too many
    /// subrequests.
    fn request_slice(&mut self) -> Result<SubrequestFuture, BodyError> {
        let size = self.whole.size;
        let slice = Slice { start: self.wanted.start / size * size, size };
        match self.exchange.piece(slice) {
            Ok(piece) => Ok(subrequest::execute_in_place(piece)),
            Err(_) => Err(BodyError::Origin("too many subrequests".to_owned())),
        }
    }

    fn check(&self, mut answer: SubrequestResponse) -> Result<SliceInProgress, String> {
        let status = answer.response.status;
        if status != 206 {
            return Err(format!("unexpected status code {status} in slice response"));
        }
        let slice = answer.exchange().request.cache.slice.get().ok_or("missing slice response")?;
        let part = part(&answer.response, slice, true)?;
        if self.whole.tag.is_some() && part.tag != self.whole.tag {
            return Err("etag mismatch in slice response".to_owned());
        }
        if part.complete != self.whole.complete {
            return Err("complete length mismatch in slice response".to_owned());
        }
        Ok(SliceInProgress::new(answer.into_plain_body(), part.range.range))
    }

    /// Returns the part of the slice's next bytes that belongs to the requested range. Returns an error if the slice is
    /// longer than its range.
    fn take_from_slice(&mut self, mut bytes: Bytes) -> Result<Bytes, String> {
        let SliceState::Reading(piece) = &mut self.state else { return Ok(Bytes::new()) };
        let length = bytes.len() as u64;
        if length > piece.rest.end - piece.rest.start {
            return Err("slice response is longer than its range".to_owned());
        }
        let skipped = (self.wanted.start - piece.rest.start).min(length);
        piece.rest.start += length;
        bytes.advance(skipped as usize);
        bytes.truncate(usize::try_from(self.wanted.end - self.wanted.start).unwrap_or(usize::MAX));
        self.wanted.start += bytes.len() as u64;
        if piece.rest.is_empty() {
            self.state = SliceState::Between;
        }
        Ok(bytes)
    }

    fn failed(&mut self, reason: &str) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.exchange.request.log(LogLevel::Error, format_args!("{reason}"));
        self.wanted = 0..0;
        Poll::Ready(Some(Err(BodyError::Origin(reason.to_owned()))))
    }
}

impl Body for SliceBody {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let this = &mut *self;
        while !this.wanted.is_empty() {
            match &mut this.state {
                SliceState::Between => this.state = SliceState::Asking(this.request_slice()?),
                SliceState::Asking(asked) => {
                    let answer = ready!(asked.as_mut().poll(cx));
                    match this.check(answer) {
                        Ok(piece) => this.state = SliceState::Reading(piece),
                        Err(reason) => return this.failed(&reason),
                    }
                }
                SliceState::Reading(piece) => match ready!(piece.body.as_mut().poll_data(cx)) {
                    Some(Ok(bytes)) => match this.take_from_slice(bytes) {
                        Ok(bytes) if bytes.is_empty() => {}
                        Ok(bytes) => return Poll::Ready(Some(Ok(bytes))),
                        Err(reason) => return this.failed(&reason),
                    },
                    Some(Err(error)) => return this.failed(&error.to_string()),
                    None => return this.failed("slice response is shorter than its range"),
                },
            }
        }
        Poll::Ready(None)
    }

    fn size_hint(&self) -> Option<u64> {
        Some(self.wanted.end - self.wanted.start)
    }
}
