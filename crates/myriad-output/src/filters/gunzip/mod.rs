//! `gunzip`: decompression of stored or received gzip data for clients that do not accept gzip.

mod directives;
mod filter;
mod unpack;

pub use directives::ROWS;
pub(super) use filter::{compiled, unpack};

#[cfg(test)]
mod tests;
