//! HTTP/3 codec for servers (RFC 9114, RFC 9204, RFC 9218). It turns the bytes of streams into events, and responses
//! into bytes.
//!
//! ```text
//!   request stream -> frames -> HEADERS -> qpack -> RequestHead
//!                            -> DATA    -> pieces of the body
//!   client's control stream  -> SETTINGS first, then connection-level frames
//!   response -> HEADERS, DATA -> one buffer
//! ```
//!
//! The driver implements QUIC, its streams and their windows. The codec uses no clock and no socket. All memory that a
//! client can occupy is bounded:
//!
//! - a header block by [`crate::h1::HeadLimits`],
//! - the dynamic table of a connection by 4 KB, the value of nginx,
//! - a partial table instruction by 15 KB, the size of a maximum entry in the longest Huffman code,
//! - a partial frame of the control stream by 4 KB,
//! - pending decoder instructions to the client by 8 KB,
//! - everything else by 16 bytes per stream.
//!
//! A request can wait for table entries, which arrive on a separate stream; responses never use the dynamic table.

mod control;
mod error;
mod frame;
mod qpack;
mod request;
mod response;
mod uni_streams;

pub use control::{ControlEvent, goaway, server_stream_prefaces};
pub use error::{ErrorScope, Http3Error, Http3ErrorCode};
pub use qpack::{QpackDecoder, QpackEncoder};
pub use request::{RequestEvent, RequestReader};
pub use response::{data_frame, interim_response, response_head, trailers};
pub use uni_streams::{ClientUniStreams, UniStreamRole};

#[cfg(test)]
mod tests;
