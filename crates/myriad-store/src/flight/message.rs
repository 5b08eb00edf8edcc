//! Messages of a flight: what its writer says, what its readers and its writer are told.

use std::sync::Arc;

use crate::{ALTERNATIVES, Alternative, Metadata, Object, Selection};

/// Why a fetch failed, in the caller's own numbering (an HTTP status, for example).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure(pub u16);

/// Why a flight ended before its body did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abort {
    /// The writer was dropped.
    Dropped,
    /// The origin failed in mid-body.
    Failed(Failure),
}

/// The first message to a reader.
#[derive(Debug)]
pub enum FlightHead<M: Metadata> {
    /// The response was admitted: `poll_chunk` yields its body from the first byte on.
    Head(Arc<M>),
    /// The whole object is there (stored, or the former one revalidated).
    Object(Object<M>),
    /// The response belongs to another variant of the key: claim again.
    Mismatch,
    /// The response may not be shared: fetch for yourself.
    Uncacheable,
    /// The origin gave no response.
    Failed(Failure),
    /// The writer was dropped before the head arrived: claim again.
    Aborted,
}

/// How a flight ended.
#[derive(Debug)]
pub enum FlightEnd<M: Metadata> {
    /// The whole object is there.
    Object(Object<M>),
    /// The body is too long to be held: read it by `poll_chunk`.
    Oversized,
    /// The response belongs to another variant of the key: claim again.
    Mismatch,
    /// The response may not be shared: fetch for yourself.
    Uncacheable,
    /// The origin gave no response.
    Failed(Failure),
    /// The flight ended before its body did.
    Aborted(Abort),
}

/// What the leader publishes once the response's head is admitted.
#[derive(Debug)]
pub struct Admission<M> {
    /// The head that waiters send while the body arrives.
    pub head: Arc<M>,
    /// Which variant this is; `None` where the response has no selector.
    pub selection: Option<Selection>,
    /// The announced length of the body, in bytes; one beyond the limits makes the flight oversized at once.
    pub length: Option<u64>,
}

/// What the leader tells of the finished object.
#[derive(Debug)]
pub struct Completion<M: Metadata> {
    /// The metadata that is stored; it may know more than the head did (a validator made from the bytes).
    pub meta: M,
    /// The time now.
    pub now: u64,
    /// When the object stops being fresh.
    pub fresh_until: u64,
    /// Encodings that are ready already.
    pub alternatives: [Option<Alternative<M::Alternative>>; ALTERNATIVES],
}

/// What became of a completed flight.
#[derive(Debug)]
pub enum Completed<M: Metadata> {
    /// The object is stored under its key.
    Stored(Object<M>),
    /// The body is too long for memory: the object is stored once its file is whole.
    Spilled,
    /// The object serves the waiters of the flight, and no request after them.
    Unstored(Unstored),
}

/// Why a completed object was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unstored {
    /// A purge covered the key after the fetch began.
    Purged,
    /// A fetch that began later has stored its object already.
    Overtaken,
    /// The body was longer than the limits allow.
    Oversized,
    /// The zone's cap left no room.
    NoRoom,
}

/// Whether the body is still being collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// Yes: it will be stored on completion.
    Ok,
    /// No: its slowest reader sets the pace from now on, so wait for [`crate::BodyWriter::poll_capacity`] before each push.
    Oversized,
}

/// Whether the next piece of the body is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// Push it.
    Ready,
    /// The body is oversized and nobody reads it any more: stop the fetch.
    Abandoned,
}
