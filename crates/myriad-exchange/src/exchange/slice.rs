//! A piece of a whole (`slice`).

/// A piece of a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Its first byte, a multiple of the size.
    pub start: u64,
    /// Bytes of each piece but the last (`slice`).
    pub size: u64,
}
