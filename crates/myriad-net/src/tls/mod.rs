//! TLS on a connection: the handshake, then the same reads and writes as on a plain socket.
//!
//! rustls implements the protocol; this module moves its bytes. An idle connection holds the session's state and no
//! record buffers except the few kilobytes of rustls.

mod facts;
mod greeter;
mod half_open;
mod handshake;
pub mod names;
mod offer;
mod records;
mod refusal;
mod session;
mod signed;
#[cfg(test)]
mod tests;

pub use facts::{CachedVerifyResult, CertificateValues, ClientOffer, TlsFacts, VerifyResult};
pub use greeter::HandshakeCallbacks;
pub(crate) use greeter::ServiceCallbacks;
pub(crate) use handshake::{HandshakeError, HandshakeResult, accept, poll_header};
pub use refusal::Refusal;
pub(crate) use session::TlsSession;
pub use signed::client_has_signed;
pub(crate) use signed::with_client_scheme;
