//! HPACK header compression (RFC 7541).

mod decoder;
mod encoder;
pub(crate) mod huffman;
pub(crate) mod integer;
mod table;

pub use decoder::{HpackDecoder, HpackError};
pub use encoder::HpackEncoder;

#[cfg(test)]
mod tests;
