//! Field compression (RFC 9204). Clients may use a dynamic table; answers refer to the static one alone, so that no answer
//! waits for another and nothing is kept of what was sent.

mod decoder;
mod dynamic;
mod encoder;
mod error;
mod instruction;
mod literal;
mod section;
mod table;

pub use decoder::Decoder;
pub use encoder::Encoder;
pub(super) use error::DecodeError;
pub(super) use literal::{Fault, read_integer};

/// Bytes of the table that a client may fill (`SETTINGS_QPACK_MAX_TABLE_CAPACITY`, RFC 9204 §5), nginx's figure.
pub(super) const MAX_TABLE_CAPACITY: usize = 4096;
/// Streams whose requests may wait for entries (`SETTINGS_QPACK_BLOCKED_STREAMS`). It is no setting of the site's: a client
/// that comes back with early data goes by what it was told before (RFC 9204 §3.2.3).
pub(super) const MAX_BLOCKED_STREAMS: usize = 128;

#[cfg(test)]
mod tests;
