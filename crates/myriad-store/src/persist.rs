//! Metadata that can be stored on disk.

use crate::Metadata;

/// Metadata that can be stored on disk.
///
/// [`Self::decode`] only receives bytes that [`Self::encode`] with the same [`Self::VERSION`] has written, possibly in
/// another version of the program. They are never damaged, because files have checksums.
pub trait Persist: Metadata {
    /// Version of the encoding, to be incremented with each change of it. Files with another version are quarantined.
    const VERSION: u16;

    /// Appends the encoded metadata to `out`.
    fn encode(view: Self::MetaView<'_>, out: &mut Vec<u8>);

    /// Decodes metadata; `None` if the bytes are invalid.
    fn decode(bytes: &[u8]) -> Option<Self>;

    /// Returns the metadata with `ms` milliseconds added to its times, because it was written with another clock. The
    /// default is for metadata without times.
    #[must_use]
    fn shifted(self, _ms: i64) -> Self {
        self
    }

    /// Appends the encoded metadata of an alternative encoding to `out`.
    fn encode_alternative(meta: &Self::EncodingMeta, out: &mut Vec<u8>);

    /// Decodes the metadata of an alternative encoding; `None` if the bytes are invalid.
    fn decode_alternative(bytes: &[u8]) -> Option<Self::EncodingMeta>;
}
