//! Reasons to reject a QUIC client during the handshake.

/// Reason to reject a QUIC client by its client hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The requested name has no server that accepts handshakes (`ssl_reject_handshake`).
    UnrecognizedName,
    /// HTTP/3 is disabled on the server (`http3 off`).
    NoApplicationProtocol,
    /// The certificate, whose name contains variables, cannot be loaded; the error is logged.
    NoCertificate,
}
