//! Redirection of all clients to https (`https_only`).

use std::sync::Arc;

use myriad_tls::acme_client::CertificateSlot;

/// Settings of `https_only` of a server: clients are redirected to https.
pub struct HttpsOnly {
    /// Port of the https URL with its colon; empty for port 443.
    pub port: Box<str>,
    /// Certificate of the server from an ACME issuer. Before it is issued, clients are not redirected, because TLS
    /// handshakes would fail. `None` if the server has no such certificate, or one of its certificates is from a file.
    pub awaits: Option<Arc<CertificateSlot>>,
}
