//! From an answer to a response: conditions, ranges, encodings, the head.

mod answer;
mod date;
mod encoding;
mod error_body;
mod expires;
mod fields;
mod ranges;
mod send;

pub use answer::{Answer, Source};
pub use encoding::{Encodings, encodings};
pub use error_body::error_body;
pub use fields::{copy_lines, line_named};
pub use send::send;
