//! Messages of a flight, from and to its writer and its readers.

use std::sync::Arc;

use crate::{ALTERNATIVES, AlternativeEncoding, Metadata, Object, Selection};

/// Reason for a failed fetch, in the caller's numbering (an HTTP status, for example).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchFailure(pub u16);

/// Reason why a flight finished before its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abort {
    /// The writer was dropped.
    Dropped,
    /// The origin failed within the body.
    Failed(FetchFailure),
}

/// First message to a reader.
#[derive(Debug)]
pub enum FlightHead<M: Metadata> {
    /// The response was admitted: `poll_chunk` yields its body from the first byte on.
    Head(Arc<M>),
    /// The complete object is available (stored, or the previous object after a revalidation).
    Object(Object<M>),
    /// The response belongs to another variant of the key: claim again.
    Mismatch,
    /// The response may not be shared: fetch separately.
    Uncacheable,
    /// The origin gave no response.
    Failed(FetchFailure),
    /// The writer was dropped before the head arrived: claim again.
    Aborted,
}

/// Result of a flight.
#[derive(Debug)]
pub enum FlightEnd<M: Metadata> {
    /// The complete object is available.
    Object(Object<M>),
    /// The body is too long for memory: read it by `poll_chunk`.
    Oversized,
    /// The response belongs to another variant of the key: claim again.
    Mismatch,
    /// The response may not be shared: fetch separately.
    Uncacheable,
    /// The origin gave no response.
    Failed(FetchFailure),
    /// The flight finished before its body.
    Aborted(Abort),
}

/// Data that the leader publishes when the response's head is admitted.
#[derive(Debug)]
pub struct Admission<M> {
    /// Head that waiters send while the body arrives.
    pub head: Arc<M>,
    /// Variant of the response; `None` if it has no selector.
    pub selection: Option<Selection>,
    /// Announced length of the body, in bytes. A length beyond the limits makes the flight oversized at once.
    pub length: Option<u64>,
}

/// Data that the leader adds to the completed object.
#[derive(Debug)]
pub struct Completion<M: Metadata> {
    /// Metadata to store. It may contain more than the head did (a validator made from the bytes).
    pub meta: M,
    /// Current time.
    pub now: u64,
    /// Time until which the object is fresh.
    pub fresh_until: u64,
    /// Encodings that are already available.
    pub alternatives: [Option<AlternativeEncoding<M::EncodingMeta>>; ALTERNATIVES],
}

/// Result of a completed flight.
#[derive(Debug)]
pub enum Completed<M: Metadata> {
    /// The object is stored under its key.
    Stored(Object<M>),
    /// The body is too long for memory: the object is stored once its file is complete.
    Spilled,
    /// The object serves only the waiters of the flight.
    Unstored(NotStored),
}

/// Reason why a completed object was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStored {
    /// A purge covered the key after the fetch began.
    Purged,
    /// A fetch that began later has already stored its object.
    Superseded,
    /// The body was longer than the limits allow.
    Oversized,
    /// The zone's cap left no room.
    OverCap,
}

/// State of the collection of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectState {
    /// The body is collected and will be stored on completion.
    Ok,
    /// The body is too long. Its slowest reader limits the rate from now on: wait for
    /// [`crate::BodyWriter::poll_capacity`] before each push.
    Oversized,
}

/// State of the demand for the next piece of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// The next piece can be pushed.
    Ready,
    /// The body is oversized and has no reader left: stop the fetch.
    Abandoned,
}
