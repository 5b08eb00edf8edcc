//! Decoding errors of field sections.

/// Reason why a field section cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum QpackError {
    /// The section is malformed or refers to missing entries. The connection must be closed.
    Broken,
    /// A name or value, or all together, exceed the limit.
    TooLarge,
    /// The section needs entries that have not arrived. The value is its required insert count.
    Blocked(u64),
}
