//! `slice`: a long answer asked for, and cached, in pieces of one size.
//!
//! ```text
//! client: Range: bytes=3-9 --> slice 2 --> origin: bytes=2-3, 4-5, 6-7, 8-9, each by its own key ($slice_range)
//! ```
//!
//! A place slices where its key or its request reads `$slice_range`. The first piece says how long the whole is; what
//! the client asked for is then cut out of the whole, and the other pieces are asked for as it takes them. Each must be
//! of the same whole, by tag and length, else the answer breaks off.

mod body;
mod directives;
mod filter;
mod part;
mod variables;
mod wanted;

pub use directives::ROWS;
pub(super) use filter::{assemble, compiled};
pub use variables::VARIABLES;

#[cfg(test)]
mod tests;
