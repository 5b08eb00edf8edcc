//! TLS settings for connections to the origin of a location (`proxy_ssl_*`).

use std::sync::Arc;

use myriad_script::{Environment, Frame, Template};
use myriad_tls::NamedCertificates;
use myriad_upstream::PeerVerifier;
use rustls::ClientConfig;
use rustls::sign::CertifiedKey;

/// `proxy_ssl_*` of a location: TLS settings for connections to its origin.
pub struct OriginTlsPlace {
    /// TLS configuration: versions, cipher suites, sessions, and the client certificate unless a variable names it.
    pub config: Arc<ClientConfig>,
    /// `proxy_ssl_verify`: verification of the origin's certificate; `None` if it is off.
    pub check: Option<Arc<dyn PeerVerifier>>,
    /// `proxy_ssl_name`: name of the origin in the TLS handshake; `None` means the host of the URL.
    pub name: Option<Template>,
    /// `proxy_ssl_certificate` and its key, if their file names contain variables; otherwise `None`.
    pub certificate: Option<NamedPair>,
    /// Number that distinguishes different settings, so that their connections are not shared.
    pub id: u64,
}

/// Certificate and key whose file names may contain variables.
pub struct NamedPair {
    /// File name of the certificate. If it evaluates to an empty text, a connection to an origin uses no certificate; a
    /// handshake with a client fails.
    pub certificate: Template,
    /// File name of the private key.
    pub key: Template,
    /// Cache of the certificates and keys that have been loaded from files.
    pub files: Arc<NamedCertificates>,
    /// True if the client's order of preference selects among the certificates of a server; false with
    /// `ssl_prefer_server_ciphers on`.
    pub is_clients: bool,
}

impl NamedPair {
    /// Evaluates the file names and loads the pair. Returns `None` if the certificate's name is empty. The error is a
    /// message for the log.
    pub fn load<E: Environment + ?Sized>(
        &self,
        env: &E,
        frame: &mut Frame,
    ) -> Result<Option<Arc<CertifiedKey>>, String> {
        let mut eval = |name: &Template| {
            let mut value = Vec::new();
            name.eval(env, frame, &mut value).map(|()| value).map_err(|error| error.to_string())
        };
        let certificate = eval(&self.certificate)?;
        if certificate.is_empty() {
            return Ok(None);
        }
        self.files.load(&certificate, &eval(&self.key)?).map(Some)
    }

    /// Loads all certificates of a server for one handshake. The error is a message for the log; an empty file name is
    /// an error, too.
    pub fn load_all<E: Environment + ?Sized>(
        pairs: &[Self],
        env: &E,
        frame: &mut Frame,
    ) -> Result<Vec<Arc<CertifiedKey>>, String> {
        let load =
            |pair: &Self| pair.load(env, frame)?.ok_or("the name in \"ssl_certificate\" is empty".to_owned());
        pairs.iter().map(load).collect()
    }
}
