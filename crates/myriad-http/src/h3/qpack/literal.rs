//! Strings and integers in the encoding of QPACK (RFC 9204 §4.1).

use super::error::QpackError;
use crate::h2::hpack::{huffman, integer};

/// Maximum length in bytes of an encoded integer; longer integers are larger than any valid value.
const LONGEST_INTEGER: usize = 6;

/// Length in bits of the longest Huffman code.
const LONGEST_CODE: usize = 30;
/// Maximum number of padding bits after the last Huffman code.
const PADDING: usize = 7;

/// Reason why an integer or string cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum LiteralError {
    /// More bytes are needed.
    Partial,
    /// The integer or string is invalid.
    Broken,
}

/// Parses an integer with a prefix of `prefix` bits, and removes it from `input`. If it is incomplete or too large, the
/// error is [`LiteralError::Partial`] for an input shorter than [`LONGEST_INTEGER`], and otherwise
/// [`LiteralError::Broken`].
pub(in super::super) fn read_integer(input: &mut &[u8], prefix: u32) -> Result<usize, LiteralError> {
    let fault = if input.len() < LONGEST_INTEGER { LiteralError::Partial } else { LiteralError::Broken };
    integer::read(input, prefix).ok_or(fault)
}

/// Encoded string, with or without Huffman coding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Literal<'a> {
    bytes: &'a [u8],
    coded: bool,
}

impl<'a> Literal<'a> {
    /// Parses a string. Its length is an integer with a prefix of `prefix` bits; the next higher bit is the Huffman
    /// flag.
    ///
    /// The string is rejected before its bytes arrive if it must have more than `longest` decoded bytes.
    pub(super) fn read(input: &mut &'a [u8], prefix: u32, longest: usize) -> Result<Self, LiteralError> {
        let coded = input.first().is_some_and(|first| first >> prefix & 1 == 1);
        let length = read_integer(input, prefix)?;
        if min_len(length, coded) > longest {
            return Err(LiteralError::Broken);
        }
        let (bytes, rest) = input.split_at_checked(length).ok_or(LiteralError::Partial)?;
        *input = rest;
        Ok(Self { bytes, coded })
    }

    /// Returns the minimum length of the decoded string, in bytes.
    pub(super) fn min_decoded_len(self) -> usize {
        min_len(self.bytes.len(), self.coded)
    }

    /// Decodes the string and appends it to `out`. Fails if it has more than `most` bytes or its Huffman code is
    /// invalid.
    pub(super) fn append(self, most: usize, out: &mut Vec<u8>) -> Result<(), QpackError> {
        if !self.coded {
            if self.bytes.len() > most {
                return Err(QpackError::TooLarge);
            }
            out.extend_from_slice(self.bytes);
            return Ok(());
        }
        let before = out.len();
        huffman::decode(self.bytes, most, out)
            .ok_or_else(|| if out.len() - before == most { QpackError::TooLarge } else { QpackError::Broken })
    }
}

/// Returns the minimum length of a string after decoding. If it is Huffman-coded (`coded`), all codes are assumed to be
/// the longest.
fn min_len(length: usize, coded: bool) -> usize {
    if coded { length.saturating_mul(8).saturating_sub(PADDING).div_ceil(LONGEST_CODE) } else { length }
}
