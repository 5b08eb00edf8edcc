//! HTTP/2 codec for servers and clients (RFC 9113, RFC 7541, RFC 9218). It converts input bytes to events, and
//! responses or requests to output bytes. The client is in [`client`]; the server works as follows:
//!
//! ```text
//!   input -> frame -> connection: state of streams, windows, floods -> Received::{Request, Data, Reset, ..}
//!                        |  header blocks -> hpack -> request -> RequestHead
//!   output <- frames <- schedule (urgency, windows) <- respond, send, trailers
//! ```
//!
//! The codec uses no clock and no socket. All memory that a client can occupy is limited: header blocks by
//! [`crate::h1::HeadLimits`], compression tables by 4096 bytes, streams by [`Http2ServerConfig::max_streams`], bodies
//! by their windows, responses to control frames by a maximum backlog. A client that sends too many useless frames gets
//! `ENHANCE_YOUR_CALM`.

mod abuse_budget;
mod block;
pub mod client;
mod connection;
mod error;
mod frame;
pub mod hpack;
mod output;
mod priority;
pub(crate) mod request;
mod settings;

pub use connection::{
    ClientEvent, ClientInput, FinishedStream, Http2Server, Http2ServerConfig, ResponseBytes,
};
pub use error::{ConnectionError, ErrorCode};
pub use output::OutputQueue;
pub use priority::Priority;

/// First bytes that a client sends on a connection (RFC 9113 §3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Maximum payload of a received frame in bytes, and default limit of a sent frame: the minimum of
/// `SETTINGS_MAX_FRAME_SIZE` (RFC 9113 §6.5.2).
pub const MAX_FRAME: usize = 16_384;

/// Length of a frame header in bytes (RFC 9113 §4.1).
pub const FRAME_HEADER: usize = 9;
