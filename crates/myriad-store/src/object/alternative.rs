//! Alternative encodings (such as gzip) of the body of an object.

use bytes::Bytes;
use once_cell::race::OnceBox;

/// Maximum number of alternative encodings of an object, besides its original body.
pub const ALTERNATIVES: usize = 4;

/// Alternative encoding of an object's body, such as gzip.
#[derive(Debug)]
pub struct AlternativeEncoding<A> {
    /// Encoded body. Its allocation should have exactly this length, because only the length is accounted.
    pub bytes: Bytes,
    /// Caller's metadata of this encoding.
    pub meta: A,
}

/// Reason why an encoding or a replacement was not added to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachError {
    /// The object is not stored any more: it was purged, evicted or replaced by a later response.
    Gone,
    /// The object already has an encoding with this index, or the maximum number of replacements.
    Occupied,
    /// The zone's memory limit has no space, or the index is not below [`ALTERNATIVES`].
    NoRoom,
}

/// Node in the linked list of an object's encodings. Most objects have one or two, so an array would waste memory.
pub(super) struct EncodingNode<A> {
    pub(super) index: usize,
    pub(super) alternative: AlternativeEncoding<A>,
    pub(super) next: EncodingList<A>,
}

/// Start of the list of an object's encodings; empty until one is added.
pub(super) type EncodingList<A> = OnceBox<EncodingNode<A>>;
