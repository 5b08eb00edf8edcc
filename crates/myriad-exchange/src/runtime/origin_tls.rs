//! How the origin of a place is spoken to by TLS (`proxy_ssl_*`).

use std::sync::Arc;

use myriad_script::Template;
use myriad_tls::NamedCertificates;
use myriad_upstream::CheckPeer;
use rustls::ClientConfig;

/// `proxy_ssl_*` of a place.
pub struct OriginTlsPlace {
    /// Versions, suites, sessions; a certificate of this server's own where no variable names it.
    pub config: Arc<ClientConfig>,
    /// `proxy_ssl_verify`.
    pub check: Option<Arc<dyn CheckPeer>>,
    /// `proxy_ssl_name`; the host of the URL where none is written.
    pub name: Option<Template>,
    /// `proxy_ssl_certificate`, where a variable names it.
    pub certificate: Option<NamedPair>,
    /// Tells places with different settings apart.
    pub id: u64,
}

/// A certificate and its key, by names that variables make.
pub struct NamedPair {
    /// The certificate's name; none is shown where it comes to nothing.
    pub certificate: Template,
    /// The key's.
    pub key: Template,
    /// Where they are read.
    pub files: Arc<NamedCertificates>,
    /// Whether the client's order decides which of a server's pairs it gets.
    pub is_clients: bool,
}
