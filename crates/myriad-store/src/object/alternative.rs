//! Alternative encodings of an object.

use bytes::Bytes;
use once_cell::race::OnceBox;

/// Maximum number of alternative encodings of an object, in addition to its original body.
pub const ALTERNATIVES: usize = 4;

/// Alternative encoding of an object's body.
#[derive(Debug)]
pub struct AlternativeEncoding<A> {
    /// Encoded body. Its allocation should have exactly its size, because only its length is accounted.
    pub bytes: Bytes,
    /// Caller's metadata (the head for this encoding).
    pub meta: A,
}

/// Reason why an alternative was not attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachError {
    /// The object is no longer stored: purged, evicted or replaced by another generation.
    Gone,
    /// The index already has an alternative.
    Occupied,
    /// The zone's cap leaves no room, or the index is not below [`ALTERNATIVES`].
    NoRoom,
}

/// Element in the linked list of an object's alternatives. Most objects have one or two, so a table would waste memory.
pub(super) struct EncodingNode<A> {
    pub(super) index: usize,
    pub(super) alternative: AlternativeEncoding<A>,
    pub(super) next: EncodingList<A>,
}

/// First alternative of an object.
pub(super) type EncodingList<A> = OnceBox<EncodingNode<A>>;
