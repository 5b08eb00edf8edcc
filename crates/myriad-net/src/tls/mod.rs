//! TLS on a connection: the handshake, then the same reads and writes as on a bare socket.
//!
//! The protocol is rustls'; this module moves its bytes. A connection that is idle holds the session's state and no
//! record buffers beyond the few kilobytes that rustls keeps.

mod facts;
mod greeter;
mod half_open;
mod handshake;
pub mod names;
mod offer;
mod records;
mod session;
mod signed;
#[cfg(test)]
mod tests;

pub use facts::{Judged, Judgement, Offer, Readings, TlsFacts};
pub use greeter::Greeter;
pub(crate) use greeter::OfService;
pub(crate) use handshake::{Failure, Greeting, accept, poll_header};
pub(crate) use session::Session;
pub use signed::client_has_signed;
pub(crate) use signed::hearing;
