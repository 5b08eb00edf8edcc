//! HTTP/3 codec for servers (RFC 9114, RFC 9204, RFC 9218). It converts the bytes of streams to events, and responses
//! to bytes.
//!
//! ```text
//!   request stream -> frames -> HEADERS -> qpack -> RequestHead
//!                            -> DATA    -> pieces of the body
//!   client's control stream  -> SETTINGS first, then connection-level frames
//!   response -> HEADERS, DATA -> one buffer
//! ```
//!
//! The driver in `myriad-net` implements QUIC with its streams and windows. The codec uses no clock and no socket. All
//! memory that a client can occupy is limited:
//!
//! - a header block to [`crate::h1::HeadLimits`],
//! - the dynamic table of a connection to 4 KB, the value of nginx,
//! - a partial table instruction to 15 KB, the size of the largest entry in the longest Huffman codes,
//! - a partial frame of the control stream to 4 KB,
//! - decoder instructions that the client has not read to 8 KB,
//! - everything else to 16 bytes per stream.
//!
//! A request can wait for table entries, which arrive on another stream. Responses never use the dynamic table.

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
