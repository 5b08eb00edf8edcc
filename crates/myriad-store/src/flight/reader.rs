//! Readers of a flight (a fetch that several requests share).

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::state::{Chunk, Flight, Phase, matches_request};
use super::{Abort, FlightEnd, FlightHead};
use crate::{Metadata, Selection};

/// Reader of a response that several requests share (a flight). It receives the body from the first byte on, whenever
/// it joined. The fetch can continue after it is dropped.
pub struct FlightReader<M: Metadata> {
    flight: Arc<Flight<M>>,
    place: usize,
    /// Set if every response matches: for readers of the request that started the fetch, of reads from disk, and those
    /// of [`Self::new_reader`].
    is_leaders: bool,
}

impl<M: Metadata> FlightReader<M> {
    /// Creates a reader of a shared fetch. The caller must have checked that the fetch accepts readers. `is_leaders` is
    /// true if every response matches the reader.
    pub(crate) fn join(flight: &Arc<Flight<M>>, is_leaders: bool) -> Self {
        let place = flight.state.lock().join();
        Self { flight: Arc::clone(flight), place, is_leaders }
    }

    fn matches(&self, selection: Option<&Selection>, variant: &impl Fn(&[u8], &mut Vec<u8>)) -> bool {
        self.is_leaders || matches_request(selection, variant, &mut Vec::new())
    }

    /// Polls for the response head. `variant` derives the request's variant from a selector, as in
    /// [`crate::Zone::get`].
    pub fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        variant: impl Fn(&[u8], &mut Vec<u8>),
    ) -> Poll<FlightHead<M>> {
        let mut state = self.flight.state.lock();
        let head = match &state.phase {
            _ if state.is_withdrawn && !self.is_leaders => FlightHead::Uncacheable,
            Phase::Waiting => {
                state.wait(self.place, cx);
                return Poll::Pending;
            }
            Phase::Streaming(stream) | Phase::Oversized(stream) => {
                if self.matches(stream.selection.as_ref(), &variant) {
                    FlightHead::Head(Arc::clone(&stream.head))
                } else {
                    FlightHead::Mismatch
                }
            }
            Phase::Complete(object) if self.matches(object.selection(), &variant) => {
                FlightHead::Object(object.clone())
            }
            Phase::Complete(_) => FlightHead::Mismatch,
            Phase::Uncacheable => FlightHead::Uncacheable,
            Phase::Failed(failure) | Phase::Aborted(Abort::Failed(failure)) => FlightHead::Failed(*failure),
            Phase::Aborted(Abort::Dropped) => FlightHead::Aborted,
        };
        Poll::Ready(head)
    }

    /// Returns true if the response was found to contain data of one client ([`crate::BodyWriter::withdraw`]), so that
    /// only the request that started the fetch may receive it.
    pub fn is_withdrawn(&self) -> bool {
        self.flight.state.lock().is_withdrawn
    }

    /// Returns the length of the whole body, in bytes: as the origin announced it, or of a complete object. `None`
    /// before the head has arrived, if the origin announced no length, or if the fetch failed or may not be shared.
    pub fn announced(&self) -> Option<u64> {
        match &self.flight.state.lock().phase {
            Phase::Streaming(stream) | Phase::Oversized(stream) => stream.announced,
            Phase::Complete(object) => Some(object.body_len()),
            _ => None,
        }
    }

    /// Returns another reader of the same shared fetch, which starts at the first byte and accepts every variant, to
    /// observe the result of the fetch.
    ///
    /// It must be created before the body becomes too long for memory, and dropped when that happens, because received
    /// pieces are released only when all readers have read them.
    #[must_use]
    pub fn new_reader(&self) -> Self {
        Self::join(&self.flight, true)
    }

    /// Polls for the next piece of the body. Returns `None` after the last piece, and the reason as an error if the
    /// fetch was aborted or failed, or may not be shared any more. To be called after [`FlightHead::Head`].
    pub fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Abort>>> {
        let (chunk, writer) = {
            let mut state = self.flight.state.lock();
            if state.is_withdrawn && !self.is_leaders {
                return Poll::Ready(Some(Err(Abort::Dropped)));
            }
            match state.read(self.place) {
                Chunk::NotYet => {
                    state.wait(self.place, cx);
                    return Poll::Pending;
                }
                Chunk::Bytes(bytes) => (Some(Ok(bytes)), state.release_read()),
                Chunk::End => (None, None),
                Chunk::Aborted(abort) => (Some(Err(abort)), None),
            }
        };
        writer.into_iter().for_each(Waker::wake);
        Poll::Ready(chunk)
    }

    /// Polls for the result of the shared fetch, for a caller that needs the complete object with its encodings rather
    /// than the stream.
    pub fn poll_end(
        &mut self,
        cx: &mut Context<'_>,
        variant: impl Fn(&[u8], &mut Vec<u8>),
    ) -> Poll<FlightEnd<M>> {
        let mut state = self.flight.state.lock();
        let end = match &state.phase {
            _ if state.is_withdrawn && !self.is_leaders => FlightEnd::Uncacheable,
            // A reader whose request the response does not match need not wait for the rest of the body.
            Phase::Streaming(stream) | Phase::Oversized(stream)
                if !self.matches(stream.selection.as_ref(), &variant) =>
            {
                FlightEnd::Mismatch
            }
            Phase::Waiting | Phase::Streaming(_) => {
                state.wait(self.place, cx);
                return Poll::Pending;
            }
            Phase::Oversized(_) => FlightEnd::Oversized,
            Phase::Complete(object) if self.matches(object.selection(), &variant) => {
                FlightEnd::Object(object.clone())
            }
            Phase::Complete(_) => FlightEnd::Mismatch,
            Phase::Uncacheable => FlightEnd::Uncacheable,
            Phase::Failed(failure) => FlightEnd::Failed(*failure),
            Phase::Aborted(abort) => FlightEnd::Aborted(*abort),
        };
        Poll::Ready(end)
    }
}

impl<M: Metadata> Drop for FlightReader<M> {
    fn drop(&mut self) {
        let writer = self.flight.state.lock().leave(self.place);
        writer.into_iter().for_each(Waker::wake);
    }
}

impl<M: Metadata> fmt::Debug for FlightReader<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlightReader").field("flight", &self.flight).finish_non_exhaustive()
    }
}
