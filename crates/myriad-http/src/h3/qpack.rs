//! QPACK field compression (RFC 9204).
//!
//! Clients may use a dynamic table. Responses only refer to the static table, so that no response waits for another
//! stream, and no state of sent fields is stored.

mod decoder;
mod dynamic;
mod encoder;
mod error;
mod instruction;
mod literal;
mod section;
mod table;

pub use decoder::QpackDecoder;
pub use encoder::QpackEncoder;
pub(super) use error::QpackError;
pub(super) use literal::{LiteralError, read_integer};

/// Maximum size in bytes of a client's dynamic table (`SETTINGS_QPACK_MAX_TABLE_CAPACITY`, RFC 9204 §5), the value of
/// nginx.
pub(super) const MAX_TABLE_CAPACITY: usize = 4096;
/// Maximum number of streams whose requests wait for table entries (`SETTINGS_QPACK_BLOCKED_STREAMS`).
///
/// It is not configurable, because a client that reconnects with early data uses the value of its earlier connection
/// (RFC 9114 §7.2.4.2).
pub(super) const MAX_BLOCKED_STREAMS: usize = 128;

#[cfg(test)]
mod tests;
