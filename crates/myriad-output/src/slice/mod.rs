//! `slice`: a long response is requested and cached in slices of equal size.
//!
//! ```text
//! client: Range: bytes=3-9 --> slice 2 --> origin: bytes=2-3, 4-5, 6-7, 8-9, each with a separate key ($slice_range)
//! ```
//!
//! A place slices if its key or its request reads `$slice_range`. The first slice contains the total length; the
//! requested range is then taken from the complete representation, and further slices are requested as the client reads
//! them. Each must belong to the same representation, by tag and length, otherwise the response is aborted.

mod body;
mod directives;
mod filter;
mod part;
mod requested_range;
mod variables;

pub use directives::ROWS;
pub(super) use filter::{assemble, compiled};
pub use variables::VARIABLES;

#[cfg(test)]
mod tests;
