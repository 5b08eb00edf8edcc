//! Encoding and decoding of bodies that arrive in pieces.

mod decode;
mod encode;

pub use decode::StreamDecoder;
pub use encode::StreamEncoder;

#[cfg(test)]
mod tests;
