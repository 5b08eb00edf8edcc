//! TLS settings for the origin of a place (`proxy_ssl_*`).

use std::sync::Arc;

use myriad_script::{Environment, Frame, Template};
use myriad_tls::NamedCertificates;
use myriad_upstream::PeerVerifier;
use rustls::ClientConfig;
use rustls::sign::CertifiedKey;

/// `proxy_ssl_*` of a place.
pub struct OriginTlsPlace {
    /// Versions, cipher suites and sessions, and the client certificate unless a variable names it.
    pub config: Arc<ClientConfig>,
    /// `proxy_ssl_verify`.
    pub check: Option<Arc<dyn PeerVerifier>>,
    /// `proxy_ssl_name`; the host of the URL if `None`.
    pub name: Option<Template>,
    /// `proxy_ssl_certificate`, if a variable names it.
    pub certificate: Option<NamedPair>,
    /// Identifier that distinguishes places with different settings.
    pub id: u64,
}

/// Certificate and key whose names contain variables.
pub struct NamedPair {
    /// Name of the certificate; no certificate is sent if it evaluates to an empty text.
    pub certificate: Template,
    /// Name of the key.
    pub key: Template,
    /// Cache of loaded files.
    pub files: Arc<NamedCertificates>,
    /// True if the client's order of preference determines the certificate of a server.
    pub is_clients: bool,
}

impl NamedPair {
    /// Evaluates the names and loads the pair; `None` if the name of the certificate is empty. The error is a line for
    /// the log.
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

    /// Loads the pairs of a server for one handshake. The error is a line for the log.
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
