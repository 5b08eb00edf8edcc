//! The HTTP/2 codec, both roles (RFC 9113, RFC 7541, RFC 9218): bytes in, events out; answers or requests in, bytes out. The
//! client's role is in [`client`]; the server's:
//!
//! ```text
//!   input -> frame -> connection: state of streams, windows, floods -> Received::{Request, Data, Reset, ..}
//!                        |  header blocks -> hpack -> request -> RequestHead
//!   output <- frames <- schedule (urgency, windows) <- respond, send, trailers
//! ```
//!
//! Nothing here reads a clock or a socket. What a client can make the codec hold is bounded: header blocks by
//! [`crate::h1::HeadLimits`], tables by 4096 bytes, streams by [`Config::max_streams`], bodies by their windows, answers to
//! control frames by a backlog; who sends frames that lead nowhere is told `ENHANCE_YOUR_CALM`.

mod block;
pub mod client;
mod connection;
mod error;
mod frame;
pub mod hpack;
mod output;
mod patience;
mod priority;
pub(crate) mod request;
mod settings;

pub use connection::{Config, Connection, Input, Over, Received, Volume};
pub use error::{ConnectionError, ErrorCode};
pub use output::Output;
pub use priority::Priority;

/// What a client sends first (RFC 9113 §3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Largest payload of a frame that is taken, and that is sent whatever the client would take, bytes
/// (`SETTINGS_MAX_FRAME_SIZE`, RFC 9113 §6.5.2): its least.
pub const MAX_FRAME: usize = 16_384;

/// Bytes of a frame's header (RFC 9113 §4.1).
pub const FRAME_HEADER: usize = 9;
