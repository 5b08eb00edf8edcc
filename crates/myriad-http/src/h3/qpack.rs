//! Field compression without a dynamic table (RFC 9204): nothing that one stream says is needed by another.

mod decoder;
mod encoder;
mod table;

pub use decoder::{DecodeError, decode};
pub use encoder::Encoder;
