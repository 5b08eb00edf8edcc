//! Tests on eight bytes at a time, in one little-endian word: the first byte is the least significant.
//!
//! A match sets the high bit of its byte. The marks up to the lowest one are exact, because a borrow only affects
//! higher bytes. This suffices to detect a match and to find the first.

/// The value 1 in each of eight bytes.
pub const ONES: u64 = u64::MAX / 255;
/// High bit of each of eight bytes.
pub const HIGH: u64 = ONES << 7;

/// Sets the high bit of each byte below `bound`, which is at most 128. Only marks up to the first are exact.
#[inline]
#[must_use]
pub const fn below(word: u64, bound: u8) -> u64 {
    word.wrapping_sub(ONES * bound as u64) & !word & HIGH
}

/// Sets the high bit of each byte equal to `byte`. Only marks up to the first are exact.
#[inline]
#[must_use]
pub const fn equal(word: u64, byte: u8) -> u64 {
    below(word ^ (ONES * byte as u64), 1)
}
