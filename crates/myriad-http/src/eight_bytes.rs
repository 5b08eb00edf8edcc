//! Comparisons of eight bytes of text at a time, in one little-endian word: the first byte is the least significant.
//!
//! A match sets the high bit of its byte. The marks up to the lowest one are exact, because a borrow only affects
//! higher bytes. This suffices to detect a match and to find the first.

/// Word of eight bytes with the value 1 in each of them.
pub const ONES: u64 = u64::MAX / 255;
/// Word of eight bytes in which the high bit of each is set.
pub const HIGH: u64 = ONES << 7;

/// Marks each byte of `word` that is below `bound` (at most 128) by its high bit in the result. Only the marks up to
/// the first (in the least significant byte) are exact; those after it may be wrong.
#[inline]
#[must_use]
pub const fn below(word: u64, bound: u8) -> u64 {
    word.wrapping_sub(ONES * bound as u64) & !word & HIGH
}

/// Marks each byte of `word` that equals `byte` by its high bit in the result. Only the marks up to the first (in the
/// least significant byte) are exact; those after it may be wrong.
#[inline]
#[must_use]
pub const fn equal(word: u64, byte: u8) -> u64 {
    below(word ^ (ONES * byte as u64), 1)
}
