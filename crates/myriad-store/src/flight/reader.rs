//! Following a flight.

use std::marker::PhantomData;
use std::task::{Context, Poll};

use bytes::Bytes;

use super::{Abort, FlightEnd, FlightHead};
use crate::Metadata;

/// One follower of a flight; reads from the first byte, whenever it joined. Dropping it strands nobody.
#[derive(Debug)]
pub struct FlightReader<M: Metadata> {
    todo: PhantomData<M>,
}

impl<M: Metadata> FlightReader<M> {
    /// Waits for the head; `variant` derives this request's variant key from a selector, as in [`crate::Zone::get`].
    pub fn poll_head(
        &mut self,
        _cx: &mut Context<'_>,
        _variant: impl Fn(&[u8], &mut Vec<u8>),
    ) -> Poll<FlightHead<M>> {
        todo!()
    }

    /// Waits for the next piece of the body; `None` at its end. Call it after [`FlightHead::Head`].
    pub fn poll_chunk(&mut self, _cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Abort>>> {
        todo!()
    }

    /// Waits for the whole object, for a caller that would rather serve that (with its encodings) than the stream.
    pub fn poll_end(
        &mut self,
        _cx: &mut Context<'_>,
        _variant: impl Fn(&[u8], &mut Vec<u8>),
    ) -> Poll<FlightEnd<M>> {
        todo!()
    }
}
