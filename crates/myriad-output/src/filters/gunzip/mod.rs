//! `gunzip`: what is stored or sent by the origin in gzip, unpacked for clients that do not take it.

mod directives;
mod filter;
mod unpack;

pub use directives::ROWS;
pub(super) use filter::{compiled, unpack};

#[cfg(test)]
mod tests;
