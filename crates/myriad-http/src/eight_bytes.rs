//! Tests eight bytes at a time in a single little-endian word: the first byte is the least significant.
//!
//! A match sets the high bit of its byte. All marks up to and including the lowest are exact, which is enough to detect
//! a match and to find the first: a borrow only affects bytes above it.

/// The value 1 in each of eight bytes.
pub const ONES: u64 = u64::MAX / 255;
/// High bit of each of eight bytes.
pub const HIGH: u64 = ONES << 7;

/// Marks the bytes below `bound`, which is at most 128.
#[inline]
#[must_use]
pub const fn below(word: u64, bound: u8) -> u64 {
    word.wrapping_sub(ONES * bound as u64) & !word & HIGH
}

/// Marks the bytes equal to `byte`.
#[inline]
#[must_use]
pub const fn equal(word: u64, byte: u8) -> u64 {
    below(word ^ (ONES * byte as u64), 1)
}
