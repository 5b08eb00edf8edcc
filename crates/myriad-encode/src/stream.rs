//! Encoding and decoding of bodies that arrive in pieces.

mod decode;
pub(crate) mod encode;

pub(crate) use decode::DecodeStep;
pub use decode::StreamDecoder;
pub use encode::StreamEncoder;

#[cfg(test)]
mod tests;
