//! The HTTP/3 codec, server role (RFC 9114, RFC 9204, RFC 9218): bytes of streams in, events out; answers in, bytes out.
//!
//! ```text
//!   request stream -> frames -> HEADERS -> qpack -> RequestHead
//!                            -> DATA    -> pieces of the body
//!   client's control stream  -> SETTINGS first, then what concerns the connection
//!   answer -> HEADERS, DATA -> one buffer
//! ```
//!
//! QUIC itself, its streams and their windows are the driver's. Nothing here reads a clock or a socket. What a client can
//! make the codec hold is bounded: a header block by [`crate::h1::HeadLimits`], the table of a connection's fields by
//! nginx's figure of 4 KB, an entry for it that is cut by the 15 KB that the worst code makes of one, a cut frame of the control
//! stream by 4 KB, what the client has yet to hear of the table by 8 KB, everything else by 16 bytes a stream. A request may wait
//! for entries of that table, which come on a stream of their own; answers never do.

mod control;
mod error;
mod frame;
mod peer;
mod qpack;
mod request;
mod response;

pub use control::{Control, goaway, greeting};
pub use error::{Code, Error, Scope};
pub use peer::{Peer, Role};
pub use qpack::{Decoder, Encoder};
pub use request::{Event, RequestReader};
pub use response::{data_frame, interim, response_head, trailers};

#[cfg(test)]
mod tests;
