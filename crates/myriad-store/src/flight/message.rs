//! Messages between a flight (a fetch that several requests share) and its writer and readers.

use std::sync::Arc;

use crate::{ALTERNATIVES, AlternativeEncoding, Metadata, Object, Selection};

/// Reason for a failed fetch, as a number that the caller defines (such as an HTTP status).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchFailure(pub u16);

/// Reason why a flight (a fetch that requests share) stopped before its body was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abort {
    /// The writer was dropped (for example because its task was cancelled), a page could not be read from its file, or
    /// the response turned out not to be shared.
    Dropped,
    /// The origin failed while it sent the body.
    Failed(FetchFailure),
}

/// First result that a request waiting for a shared fetch (a flight) receives.
#[derive(Debug)]
pub enum FlightHead<M: Metadata> {
    /// The response may be stored: read its body with `poll_chunk`, from the first byte on.
    Head(Arc<M>),
    /// The complete object is available: newly fetched (stored or not), read from its file, or the previous object
    /// after a revalidation.
    Object(Object<M>),
    /// The response is another variant of the key than this request needs: call [`crate::Zone::claim`] again.
    Mismatch,
    /// The response may not be shared between clients: fetch separately.
    Uncacheable,
    /// The origin sent no usable response, or failed while it sent the body.
    Failed(FetchFailure),
    /// The writer was dropped, or a page could not be read from its file: call [`crate::Zone::claim`] again.
    Aborted,
}

/// Final result that a request waiting for a shared fetch (a flight) receives.
#[derive(Debug)]
pub enum FlightEnd<M: Metadata> {
    /// The complete object is available.
    Object(Object<M>),
    /// The body is too long for memory: read it with `poll_chunk`.
    Oversized,
    /// The response is another variant of the key than this request needs: call [`crate::Zone::claim`] again.
    Mismatch,
    /// The response may not be shared between clients: fetch separately.
    Uncacheable,
    /// The origin sent no usable response.
    Failed(FetchFailure),
    /// The shared fetch stopped before its body was complete.
    Aborted(Abort),
}

/// Description of a response that may be stored, which the request that fetches it publishes when the response head has
/// arrived.
#[derive(Debug)]
pub struct Admission<M> {
    /// Response head, which waiters send to their clients while the body arrives.
    pub head: Arc<M>,
    /// Variant of the response; `None` if it does not vary.
    pub selection: Option<Selection>,
    /// Length of the body in bytes, if the origin announced it. Above the maximum for memory, the body counts as too
    /// long from the start.
    pub length: Option<u64>,
}

/// Description of a complete object, which the request that has fetched it provides at the end of the body.
#[derive(Debug)]
pub struct Completion<M: Metadata> {
    /// Metadata to store with the object. May contain more than the published head, such as a validator computed from
    /// the body.
    pub meta: M,
    /// Current time, in milliseconds; the object counts as stored now.
    pub now: u64,
    /// Time until which the object is fresh, in milliseconds.
    pub fresh_until: u64,
    /// Encodings of the body that are already available.
    pub alternatives: [Option<AlternativeEncoding<M::EncodingMeta>>; ALTERNATIVES],
}

/// Result of [`crate::BodyWriter::complete`] or [`crate::FlightWriter::renew`].
#[derive(Debug)]
pub enum Completed<M: Metadata> {
    /// The object is stored under its key; contains the object.
    Stored(Object<M>),
    /// The body is too long for memory: the object will be stored once its file is complete.
    Spilled,
    /// The object is not stored; only the requests that share this fetch receive it.
    Unstored(NotStored),
}

/// Reason why a complete object was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStored {
    /// A purge or a removal that came after the start of the fetch covers the object or may cover it, or the response
    /// is for one client only ([`crate::BodyWriter::withdraw`]).
    Purged,
    /// A fetch that started later has stored its object already.
    Superseded,
    /// The body is too long for memory, and is not written to disk.
    Oversized,
    /// The zone's memory limit has not enough space.
    OverCap,
}

/// Way in which a body is received: for storage, or only passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectState {
    /// The body is collected in memory, and will be stored when it is complete.
    Ok,
    /// The body is too long for memory, or the memory limit has no space for it. It is passed on as fast as its slowest
    /// reader reads: call [`crate::BodyWriter::poll_capacity`] before each push.
    Oversized,
}

/// Result of [`crate::BodyWriter::poll_capacity`]: whether the fetch may continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// The next piece of the body can be pushed.
    Ready,
    /// The body is too long for memory and has no reader and no file any more: stop the fetch.
    Abandoned,
}
