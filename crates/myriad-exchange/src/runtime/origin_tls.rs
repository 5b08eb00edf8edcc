//! How the origin of a place is spoken to by TLS (`proxy_ssl_*`).

use std::sync::Arc;

use myriad_script::{Environment, Frame, Template};
use myriad_tls::NamedCertificates;
use myriad_upstream::CheckPeer;
use rustls::ClientConfig;
use rustls::sign::CertifiedKey;

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

impl NamedPair {
    /// Evaluates the names of the pair and reads it; `None` if the name of the certificate is empty. The error is a line for the
    /// log.
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
