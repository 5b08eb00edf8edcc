//! Tests of eight bytes at a time, held in one word: the byte that came first is the lowest.
//!
//! What is found is marked by the high bit of its byte. Marks are right up to the lowest, which is enough to know whether there is one
//! and where the first is: a borrow can only disturb bytes above it.

/// A one in each of eight bytes.
pub const ONES: u64 = u64::MAX / 255;
/// The high bit of each of eight bytes.
pub const HIGH: u64 = ONES << 7;

/// Marks the bytes that are below `bound`, which is at most 128.
#[inline]
#[must_use]
pub const fn below(word: u64, bound: u8) -> u64 {
    word.wrapping_sub(ONES * bound as u64) & !word & HIGH
}

/// Marks the bytes that are `byte`.
#[inline]
#[must_use]
pub const fn equal(word: u64, byte: u8) -> u64 {
    below(word ^ (ONES * byte as u64), 1)
}
