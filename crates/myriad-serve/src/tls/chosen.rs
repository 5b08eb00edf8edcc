//! Certificates that were chosen for one handshake.

use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, SignatureAlgorithm};

use super::Preference;

/// The certificates that variables came to, those with ECDSA first.
#[derive(Debug)]
struct Chosen {
    all: Vec<Arc<CertifiedKey>>,
    preference: Preference,
}

/// The same settings with these certificates; between them the client's order decides, or the server's.
pub(crate) fn with_certificates(
    config: &ServerConfig,
    mut all: Vec<Arc<CertifiedKey>>,
    is_clients: bool,
) -> Arc<ServerConfig> {
    all.sort_by_key(|certified| u8::from(certified.key.algorithm() == SignatureAlgorithm::RSA));
    let mut own = config.clone();
    let suites = config.crypto_provider().cipher_suites.clone();
    own.cert_resolver = Arc::new(Chosen { all, preference: Preference { suites, is_clients } });
    Arc::new(own)
}

impl ResolvesServerCert for Chosen {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.preference.choose(&hello, self.all.iter().cloned())
    }
}
