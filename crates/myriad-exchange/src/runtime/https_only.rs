//! Redirection of all clients to https (`https_only`).

use std::sync::Arc;

use myriad_tls::acme_client::CertificateSlot;

/// `https_only` of a server.
pub struct HttpsOnly {
    /// Port of the https URL with its colon; empty for port 443.
    pub port: Box<str>,
    /// Certificate being issued. Clients are not redirected before it is available, because TLS handshakes would fail.
    pub awaits: Option<Arc<CertificateSlot>>,
}
