//! Leading a flight.

use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;

use super::{Admission, Capacity, Completed, Completion, Failure, FlightReader, Push};
use crate::{Body, Metadata, Object};

/// A flight whose head has not arrived yet. Dropping it aborts the flight: readers wake, and the claim is released.
#[derive(Debug)]
pub struct FlightWriter<M: Metadata> {
    todo: PhantomData<M>,
}

impl<M: Metadata> FlightWriter<M> {
    /// The sequence number at which this fetch began; the object will bear it.
    pub fn generation(&self) -> u64 {
        todo!()
    }

    /// The stale object that this fetch replaces, for a conditional request to the origin.
    pub fn previous(&self) -> Option<&Arc<Object<M>>> {
        todo!()
    }

    /// A reader for the request that caused the fetch; it is never told [`super::FlightHead::Mismatch`].
    pub fn reader(&self) -> FlightReader<M> {
        todo!()
    }

    /// The response may be stored: publishes its head and goes on to the body.
    pub fn admit(self, _admission: Admission<M>) -> BodyWriter<M> {
        todo!()
    }

    /// The origin confirmed the previous object: extends its validity and gives it to the followers.
    /// `None` where there is no previous object; the flight is then aborted.
    pub fn revalidated(self, _fresh_until: u64) -> Option<Arc<Object<M>>> {
        todo!()
    }

    /// The response may not be shared: frees the followers at once; for `pass_ms` from `now`, claims of the key answer
    /// [`crate::Claim::Pass`] (hit-for-miss). Zero remembers nothing.
    pub fn uncacheable(self, _now: u64, _pass_ms: u64) {
        todo!()
    }

    /// The origin gave no response.
    pub fn fail(self, _failure: Failure) {
        todo!()
    }
}

/// A flight whose body is arriving. Dropping it aborts the flight: readers wake, and the claim is released.
#[derive(Debug)]
pub struct BodyWriter<M: Metadata> {
    todo: PhantomData<M>,
}

impl<M: Metadata> BodyWriter<M> {
    /// The sequence number at which this fetch began; the object will bear it.
    pub fn generation(&self) -> u64 {
        todo!()
    }

    /// A reader for the request that caused the fetch; `None` once the flight is oversized.
    pub fn reader(&self) -> Option<FlightReader<M>> {
        todo!()
    }

    /// Whether the body is still being collected.
    pub fn state(&self) -> Push {
        todo!()
    }

    /// Appends a piece of the body and wakes the readers that wait for one.
    pub fn push(&mut self, _piece: Bytes) -> Push {
        todo!()
    }

    /// Waits until the next piece is wanted: at once while the body is collected, within a window of the slowest
    /// reader once it is oversized.
    pub fn poll_capacity(&mut self, _cx: &mut Context<'_>) -> Poll<Capacity> {
        todo!()
    }

    /// What has arrived, in segments of exact size, to make a validator or an encoding from; `None` once oversized.
    /// The first call after the last push makes what [`Self::complete`] stores, so the bytes are copied once.
    pub fn body(&mut self) -> Option<Body> {
        todo!()
    }

    /// The object that this fetch replaces, if what has arrived are exactly its bytes: then its validator and its
    /// encodings still hold.
    pub fn unchanged(&mut self) -> Option<Arc<Object<M>>> {
        todo!()
    }

    /// The body is whole: stores the object unless a purge, a later fetch or the cap forbids it, and wakes all readers.
    pub fn complete(self, _completion: Completion<M>) -> Completed<M> {
        todo!()
    }

    /// The origin failed in mid-body: readers get [`super::Abort::Failed`].
    pub fn fail(self, _failure: Failure) {
        todo!()
    }
}
