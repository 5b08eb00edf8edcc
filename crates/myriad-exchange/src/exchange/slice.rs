//! Slice: a part of a response that is fetched and cached separately (`slice`).

/// Slice: a part of a response that is fetched and cached separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Offset of the slice's first byte in the response; a multiple of `size`.
    pub start: u64,
    /// Size of each slice except the last, in bytes.
    pub size: u64,
}
