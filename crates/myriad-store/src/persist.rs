//! Metadata that can be kept on disk.

use crate::Metadata;

/// Metadata that can be kept on disk.
///
/// [`Self::decode`] reads what [`Self::encode`] of the same [`Self::VERSION`] has written, perhaps in another build. It is not
/// given damaged bytes: files are checksummed.
pub trait Persist: Metadata {
    /// To be raised by every change of the encoding: files of another version go into quarantine.
    const VERSION: u16;

    /// Appends the metadata.
    fn encode(view: Self::View<'_>, out: &mut Vec<u8>);

    /// Reads it back; `None` where it cannot be what was written.
    fn decode(bytes: &[u8]) -> Option<Self>;

    /// Returns the metadata with `ms` added to its times, because another process wrote it, by another clock. Metadata without times is
    /// returned unchanged.
    #[must_use]
    fn shifted(self, _ms: i64) -> Self {
        self
    }

    /// Appends the metadata of an alternative.
    fn encode_alternative(meta: &Self::Alternative, out: &mut Vec<u8>);

    /// Reads it back.
    fn decode_alternative(bytes: &[u8]) -> Option<Self::Alternative>;
}
