//! The format of a file.
//!
//! ```text
//! header, 128 bytes | body | a checksum for each piece of the body
//!                  | labels | key | selector | variant | metadata | encodings
//! ```
//!
//! Numbers are little-endian, checksums XXH3-64. The header holds every length, the checksums of the sections, and its
//! own. So a file verifies itself, and a body too large for memory is verified piece by piece as it is read. Labels begin
//! with a hash of the variant and end with a checksum of their own, so that a walk through the folder reads no more than
//! header and labels. The body comes first because a large one is written before its length is known. The header is
//! written last.

mod header;
mod parse;
mod reader;
#[cfg(test)]
mod tests;
mod write;

use xxhash_rust::xxh3::xxh3_64;

pub(crate) use header::Header;
pub use parse::examine;
pub(crate) use parse::{Head, Tail, Whole, check_pieces, read_labels, read_pieces};
pub use write::write_encoding;
pub(crate) use write::{PieceSums, Sections};

/// Bytes of a header.
pub(crate) const HEADER: usize = 152;
/// Bytes of a piece of a body, the unit that has a checksum.
pub(crate) const PIECE: u64 = 256 << 10;

/// Why a file is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatError {
    /// A file of another program, or of another version.
    Foreign,
    /// Cut short, or too long.
    Length,
    /// A checksum does not hold, or a part does not parse.
    Damaged,
}

impl std::fmt::Display for FormatError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Foreign => "not a file of this version",
            Self::Length => "cut short",
            Self::Damaged => "damaged",
        })
    }
}

impl std::error::Error for FormatError {}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A page.
    Object,
    /// The selector of a key's variants; each variant has a file of its own.
    Marker,
}

/// A hash that tells the variants of a key apart: 0 where there are none.
pub fn variant_hash(variant: Option<&[u8]>) -> u64 {
    variant.map_or(0, |variant| xxh3_64(variant) | 1)
}
