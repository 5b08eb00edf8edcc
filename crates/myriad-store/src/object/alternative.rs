//! Alternative encodings of an object.

use bytes::Bytes;
use once_cell::race::OnceBox;

/// Alternative encodings that one object can carry, besides its body as it came.
pub const ALTERNATIVES: usize = 4;

/// Another encoding of an object's body.
#[derive(Debug)]
pub struct Alternative<A> {
    /// The encoded body; the allocation should be of its exact size, since its length is what is accounted.
    pub bytes: Bytes,
    /// The caller's metadata (the head that goes with it).
    pub meta: A,
}

/// Why an alternative was not attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachError {
    /// The object is no longer stored: purged, evicted or replaced by another generation.
    Gone,
    /// Another alternative is already at that index.
    Occupied,
    /// The zone's cap leaves no room, or the index is not below [`ALTERNATIVES`].
    NoRoom,
}

/// One alternative in the chain of an object: most objects have one or two, so a table of all would waste room.
pub(super) struct Encoding<A> {
    pub(super) index: usize,
    pub(super) alternative: Alternative<A>,
    pub(super) next: Encodings<A>,
}

/// The first alternative of an object, if it has any.
pub(super) type Encodings<A> = OnceBox<Encoding<A>>;
