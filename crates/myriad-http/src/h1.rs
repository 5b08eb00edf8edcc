//! HTTP/1 codec for servers and clients (RFC 9112): parses heads, and finds body data in the input.
//!
//! Input that two implementations could interpret differently is an error that names the violated rule. Responses of
//! origins are parsed as leniently as in nginx.

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
pub use limits::{HeadLimits, ParseStatus};
pub(crate) use request::check_fields;
pub use request::{HeadScanState, parse_request, resume_request};
pub use response::{parse_field_block, parse_response};
