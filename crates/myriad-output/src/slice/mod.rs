//! `slice`: a long response is requested and cached in slices of equal size.
//!
//! ```text
//! client: Range: bytes=3-9 --> slice 2 --> origin: bytes=2-3, 4-5, 6-7, 8-9, each with a separate key ($slice_range)
//! ```
//!
//! A location requests slices if its cache key or its request to the origin reads `$slice_range`. The first slice
//! states the total length; the requested range is then taken from the complete representation, and further slices are
//! requested as the client reads them. Each must belong to the same representation, by entity tag and length; otherwise
//! the response is aborted.
//!
//! | file | content |
//! |---|---|
//! | `directives` | directive and its setting |
//! | `variables` | `$slice_range`, and the slice to request first |
//! | `filter` | assembly of the response |
//! | `part` | validation of a slice |
//! | `requested_range` | conditions and range of the client's request |
//! | `body` | body that requests further slices |

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
