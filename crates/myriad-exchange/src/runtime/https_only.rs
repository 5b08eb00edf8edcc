//! Redirection of all clients to https, compiled.

use std::sync::Arc;

use myriad_tls::acme_client::CertificateSlot;

/// `https_only` of a server.
pub struct HttpsOnly {
    /// Port with its colon; empty for the default port.
    pub port: Box<str>,
    /// Certificate that must be available first: before, clients are not redirected, because TLS handshakes would fail.
    pub awaits: Option<Arc<CertificateSlot>>,
}
