//! Codings over bodies that arrive piece by piece.

mod decode;
mod encode;

pub use decode::StreamDecoder;
pub use encode::StreamEncoder;

#[cfg(test)]
mod tests;
