//! Why what an encoder sent cannot be read.

/// Why a field section cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum DecodeError {
    /// It is no field section, or refers to what is not in the tables: the connection ends.
    Broken,
    /// A field, or all of them, are larger than allowed.
    TooLarge,
    /// It needs entries that have not come: so many must have, in all.
    Blocked(u64),
}
