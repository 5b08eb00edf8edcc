//! Binary format of a page file.
//!
//! ```text
//! header, 152 bytes | body | a checksum for each piece of the body
//!                  | labels | key | selector | variant | metadata | encodings
//! ```
//!
//! Numbers are little-endian, checksums XXH3-64. The header contains every length, the checksums of the sections, and
//! its own checksum. A file therefore verifies itself, and a body too large for memory is verified in pieces as it is
//! read.
//!
//! The labels begin with a hash of the variant and end with their own checksum, so that the recovery reads only headers
//! and labels. The body precedes the other sections because a large body is written before its length is known. The
//! header is written last.

mod header;
mod parse;
mod reader;
#[cfg(test)]
mod tests;
mod write;

use xxhash_rust::xxh3::xxh3_64;

pub(crate) use header::Header;
pub use parse::examine;
pub(crate) use parse::{HeadSections, TailSections, WholeFile, check_pieces, read_labels, read_pieces};
pub use write::write_encoding;
pub(crate) use write::{PieceSums, Sections};

/// Length of the header at the start of a page file, in bytes.
pub(crate) const HEADER: usize = 152;
/// Length in bytes of the pieces into which bodies in page files are divided. Each piece has a checksum.
pub(crate) const PIECE: u64 = 256 << 10;

/// Reason why a page file is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatError {
    /// The file belongs to another program, another format version, a folder with another hash seed, or its metadata
    /// cannot be parsed.
    Foreign,
    /// The file is shorter or longer than its header requires, or has too many bytes besides the body.
    Length,
    /// A checksum does not match, or a part cannot be parsed.
    Damaged,
}

impl std::fmt::Display for FormatError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Foreign => {
                "the file is of another program, format version or hash seed, or its metadata is invalid"
            }
            Self::Length => "the file is truncated or too long",
            Self::Damaged => "the file is damaged",
        })
    }
}

impl std::error::Error for FormatError {}

/// Kind of a page file's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentKind {
    /// A page: body, metadata and encodings.
    Object,
    /// A marker: the selector (names of request fields in `Vary`) from which the variants of the key follow. Each
    /// variant has a separate file.
    Marker,
}

/// Returns a hash that distinguishes the variants of a key: never 0 for a variant, and 0 for `None` (a key without
/// variants).
pub fn variant_hash(variant: Option<&[u8]>) -> u64 {
    variant.map_or(0, |variant| xxh3_64(variant) | 1)
}
