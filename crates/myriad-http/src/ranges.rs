//! Byte ranges (RFC 9110 §14), read as nginx reads them.

use std::ops::Range;

use smallvec::SmallVec;

/// What to do about a `Range` field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ranges {
    /// Send the whole representation: the field is malformed, of another unit, of more than `max_ranges` ranges,
    /// or asks for more than everything.
    Ignore,
    /// 416 with `Content-Range: bytes */length`.
    Unsatisfiable,
    /// 206 with these ranges, in the order they were asked for; more than one make a `multipart/byteranges`.
    Satisfiable(SmallVec<[Range<u64>; 2]>),
}

/// Reads `Range: value` for a representation of `length` bytes; `max_ranges` is nginx's directive of that name,
/// 0 turns ranges off.
pub fn parse_ranges(_value: &[u8], _length: u64, _max_ranges: usize) -> Ranges {
    Ranges::Ignore
}
