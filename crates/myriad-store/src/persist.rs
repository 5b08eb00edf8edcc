//! Metadata that can be stored on disk.

use crate::Metadata;

/// Metadata that can be stored on disk.
///
/// [`Self::decode`] reads data that [`Self::encode`] of the same [`Self::VERSION`] has written, perhaps in another
/// build. It does not receive damaged bytes, because files have checksums.
pub trait Persist: Metadata {
    /// Version of the encoding, which each change of the encoding must increment. Files of another version are
    /// quarantined.
    const VERSION: u16;

    /// Appends the metadata.
    fn encode(view: Self::MetaView<'_>, out: &mut Vec<u8>);

    /// Parses the metadata; `None` if the bytes are invalid.
    fn decode(bytes: &[u8]) -> Option<Self>;

    /// Returns the metadata with `ms` added to its times, because another process wrote it, by another clock. Metadata
    /// without times is returned unchanged.
    #[must_use]
    fn shifted(self, _ms: i64) -> Self {
        self
    }

    /// Appends the metadata of an alternative.
    fn encode_alternative(meta: &Self::EncodingMeta, out: &mut Vec<u8>);

    /// Parses the metadata of an alternative.
    fn decode_alternative(bytes: &[u8]) -> Option<Self::EncodingMeta>;
}
