//! The HTTP/1 codec, both roles (RFC 9112): bytes in, heads and ranges out.
//!
//! Strict: whatever two readers could read differently is an error that names the rule it breaks.

mod chunked;
mod framing;
mod limits;
mod line;
mod request;
mod response;
mod scan;

pub use chunked::{Chunk, ChunkedDecoder, LAST_CHUNK, encode_chunk_head};
pub use framing::{
    ConnectionOptions, Framing, ResponseFraming, connection_options, request_framing, response_framing,
    response_keeps_alive, wants_keep_alive,
};
pub use limits::{HeadLimits, Parsed};
pub(crate) use request::check_fields;
pub use request::{Progress, parse_request, resume_request};
pub use response::{parse_field_block, parse_response};
