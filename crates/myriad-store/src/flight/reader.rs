//! Reading a flight.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::state::{Chunk, Flight, Phase, suits};
use super::{Abort, FlightEnd, FlightHead};
use crate::{Metadata, Selection};

/// A reader of a flight, from the first byte on, whenever it joined. Dropping it does not end the flight.
pub struct FlightReader<M: Metadata> {
    flight: Arc<Flight<M>>,
    place: usize,
    /// Whether it reads for the request that caused the fetch, which every response suits.
    is_leaders: bool,
}

impl<M: Metadata> FlightReader<M> {
    /// Joins a flight; the caller knows that it takes newcomers.
    pub(crate) fn join(flight: &Arc<Flight<M>>, is_leaders: bool) -> Self {
        let place = flight.state.lock().join();
        Self { flight: Arc::clone(flight), place, is_leaders }
    }

    fn suits(&self, selection: Option<&Selection>, variant: &impl Fn(&[u8], &mut Vec<u8>)) -> bool {
        self.is_leaders || suits(selection, variant, &mut Vec::new())
    }

    /// Waits for the head; `variant` derives this request's variant key from a selector, as in [`crate::Zone::get`].
    pub fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        variant: impl Fn(&[u8], &mut Vec<u8>),
    ) -> Poll<FlightHead<M>> {
        let mut state = self.flight.state.lock();
        let head = match &state.phase {
            Phase::Waiting => {
                state.wait(self.place, cx);
                return Poll::Pending;
            }
            Phase::Streaming(stream) | Phase::Oversized(stream) => {
                if self.suits(stream.selection.as_ref(), &variant) {
                    FlightHead::Head(Arc::clone(&stream.head))
                } else {
                    FlightHead::Mismatch
                }
            }
            Phase::Complete(object) if self.suits(object.selection(), &variant) => {
                FlightHead::Object(object.clone())
            }
            Phase::Complete(_) => FlightHead::Mismatch,
            Phase::Uncacheable => FlightHead::Uncacheable,
            Phase::Failed(failure) | Phase::Aborted(Abort::Failed(failure)) => FlightHead::Failed(*failure),
            Phase::Aborted(Abort::Dropped) => FlightHead::Aborted,
        };
        Poll::Ready(head)
    }

    /// The length that was announced for the whole body, in bytes; `None` before the head is there and where none was.
    pub fn announced(&self) -> Option<u64> {
        match &self.flight.state.lock().phase {
            Phase::Streaming(stream) | Phase::Oversized(stream) => stream.announced,
            Phase::Complete(object) => Some(object.body_len()),
            _ => None,
        }
    }

    /// Another reader of the same flight, from its first byte, to be told of its end; take it before the body is oversized, and
    /// drop it then: it holds the pieces up.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::join(&self.flight, true)
    }

    /// Waits for the next piece of the body; `None` at its end. Call it after [`FlightHead::Head`].
    pub fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Abort>>> {
        let (chunk, writer) = {
            let mut state = self.flight.state.lock();
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

    /// Waits for the whole object, for a caller that would rather serve that (with its encodings) than the stream.
    pub fn poll_end(
        &mut self,
        cx: &mut Context<'_>,
        variant: impl Fn(&[u8], &mut Vec<u8>),
    ) -> Poll<FlightEnd<M>> {
        let mut state = self.flight.state.lock();
        let end = match &state.phase {
            // A reader that the response does not suit need not wait for the rest of it.
            Phase::Streaming(stream) | Phase::Oversized(stream)
                if !self.suits(stream.selection.as_ref(), &variant) =>
            {
                FlightEnd::Mismatch
            }
            Phase::Waiting | Phase::Streaming(_) => {
                state.wait(self.place, cx);
                return Poll::Pending;
            }
            Phase::Oversized(_) => FlightEnd::Oversized,
            Phase::Complete(object) if self.suits(object.selection(), &variant) => {
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
