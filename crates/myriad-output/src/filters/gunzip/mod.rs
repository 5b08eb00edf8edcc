//! `gunzip`: decompression of stored or received gzip data for clients that do not accept gzip.
//!
//! | file | content |
//! |---|---|
//! | `directives` | directive and its setting |
//! | `filter` | selection of the responses that are decompressed |
//! | `unpack` | streaming decompression |

mod directives;
mod filter;
mod unpack;

pub use directives::ROWS;
pub(super) use filter::{compiled, unpack};
