//! Certificates that were chosen for one handshake.

use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, SignatureAlgorithm, SignatureScheme, SupportedCipherSuite};

/// The certificates that variables came to, those with ECDSA first.
#[derive(Debug)]
struct Chosen {
    all: Vec<Arc<CertifiedKey>>,
    suites: Vec<SupportedCipherSuite>,
}

/// The same settings with these certificates.
pub(crate) fn with_certificates(config: &ServerConfig, mut all: Vec<Arc<CertifiedKey>>) -> Arc<ServerConfig> {
    all.sort_by_key(|certified| u8::from(certified.key.algorithm() == SignatureAlgorithm::RSA));
    let mut own = config.clone();
    let suites = config.crypto_provider().cipher_suites.clone();
    own.cert_resolver = Arc::new(Chosen { all, suites });
    Arc::new(own)
}

impl ResolvesServerCert for Chosen {
    /// The first whose key can sign in a way that the client understands, under a suite that both have.
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let shared = || self.suites.iter().filter(|suite| hello.cipher_suites().contains(&suite.suite()));
        let fits = |certified: &&Arc<CertifiedKey>| {
            let signs = |schemes: &[SignatureScheme]| certified.key.choose_scheme(schemes).is_some();
            signs(hello.signature_schemes())
                && shared().any(|suite| match suite {
                    SupportedCipherSuite::Tls12(suite) => signs(suite.sign),
                    SupportedCipherSuite::Tls13(_) => true,
                })
        };
        self.all.iter().find(fits).cloned()
    }
}
