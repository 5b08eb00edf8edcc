//! TLS on TCP connections: the handshake, then reads and writes through the session.
//!
//! rustls implements the protocol; this module transfers the bytes. The memory of an idle connection is the state of
//! the session and a few kilobytes of buffers of rustls.

mod client_offer;
mod client_signature;
mod facts;
mod half_open;
mod handshake;
mod handshake_callbacks;
pub mod names;
mod records;
mod refusal;
mod session;
#[cfg(test)]
mod tests;

pub use client_signature::client_has_signed;
pub(crate) use client_signature::with_client_scheme;
pub use facts::{CachedVerifyResult, CertificateValues, ClientOffer, TlsFacts, VerifyResult};
pub(crate) use handshake::{HandshakeError, HandshakeResult, accept, poll_header};
pub use handshake_callbacks::HandshakeCallbacks;
pub(crate) use handshake_callbacks::ServiceCallbacks;
pub use refusal::Refusal;
pub(crate) use session::TlsSession;
