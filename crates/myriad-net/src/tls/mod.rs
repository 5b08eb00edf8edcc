//! TLS on a connection: the handshake, then the same reads and writes as on a bare socket.
//!
//! The protocol is rustls'; this module moves its bytes. A connection that is idle holds the session's state and no
//! record buffers beyond the few kilobytes that rustls keeps.

mod facts;
mod handshake;
mod session;
#[cfg(test)]
mod tests;

pub use facts::TlsFacts;
pub(crate) use handshake::{Greeting, accept};
pub(crate) use session::Session;
