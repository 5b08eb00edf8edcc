//! Rejection of a QUIC client by its client hello.

/// Reason why a client is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No server has the requested name (`ssl_reject_handshake`).
    UnrecognizedName,
    /// HTTP/3 is disabled on the server (`http3 off`).
    NoApplicationProtocol,
    /// The certificate named by variables cannot be loaded; the reason is in the error log.
    NoCertificate,
}
