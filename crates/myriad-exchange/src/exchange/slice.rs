//! Piece of a representation (`slice`).

/// Piece of a representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Offset of the first byte, a multiple of `size`.
    pub start: u64,
    /// Size of each piece except the last, in bytes (`slice`).
    pub size: u64,
}
