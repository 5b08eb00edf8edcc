//! Strings and integers as they stand on the wire (RFC 9204 §4.1).

use super::error::DecodeError;
use crate::h2::hpack::{huffman, integer};

/// Bytes of an integer at most: what is longer is larger than anything that it may mean.
const LONGEST_INTEGER: usize = 6;

/// Bits of the longest code of Huffman's, and most bits behind the last.
const LONGEST_CODE: usize = 30;
const PADDING: usize = 7;

/// Why something cannot be read off what has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Fault {
    /// More bytes must come.
    Partial,
    /// More bytes do not help.
    Broken,
}

/// Reads an integer with a prefix of so many bits.
pub(in super::super) fn read_integer(input: &mut &[u8], prefix: u32) -> Result<usize, Fault> {
    let fault = if input.len() < LONGEST_INTEGER { Fault::Partial } else { Fault::Broken };
    integer::read(input, prefix).ok_or(fault)
}

/// A string, in the Huffman code or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Literal<'a> {
    bytes: &'a [u8],
    coded: bool,
}

impl<'a> Literal<'a> {
    /// Reads a string whose length has `prefix` bits in its first byte, below the one that says whether it is in the Huffman code.
    /// It is refused, ahead of its bytes, where it must stand for more than `longest`.
    pub(super) fn read(input: &mut &'a [u8], prefix: u32, longest: usize) -> Result<Self, Fault> {
        let coded = input.first().is_some_and(|first| first >> prefix & 1 == 1);
        let length = read_integer(input, prefix)?;
        if least(length, coded) > longest {
            return Err(Fault::Broken);
        }
        let (bytes, rest) = input.split_at_checked(length).ok_or(Fault::Partial)?;
        *input = rest;
        Ok(Self { bytes, coded })
    }

    /// Bytes that it stands for at least.
    pub(super) fn least(self) -> usize {
        least(self.bytes.len(), self.coded)
    }

    /// Appends what it stands for, unless that is longer than `most` bytes.
    pub(super) fn append(self, most: usize, out: &mut Vec<u8>) -> Result<(), DecodeError> {
        if !self.coded {
            if self.bytes.len() > most {
                return Err(DecodeError::TooLarge);
            }
            out.extend_from_slice(self.bytes);
            return Ok(());
        }
        let before = out.len();
        huffman::decode(self.bytes, most, out).ok_or_else(|| {
            if out.len() - before == most { DecodeError::TooLarge } else { DecodeError::Broken }
        })
    }
}

/// Bytes that a string of so many on the wire stands for at least, however badly it is coded.
fn least(length: usize, coded: bool) -> usize {
    if coded { length.saturating_mul(8).saturating_sub(PADDING).div_ceil(LONGEST_CODE) } else { length }
}
