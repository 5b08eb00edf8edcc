//! Decoding errors of QPACK field sections.

/// Reason why a field section cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum QpackError {
    /// The section is malformed or refers to missing table entries, or too many streams wait for table entries. The
    /// connection must be closed.
    Broken,
    /// A name or value, or all of them together, exceed the limit passed to the decoder.
    TooLarge,
    /// The section needs table entries that have not arrived. The value is its required insert count.
    Blocked(u64),
}
