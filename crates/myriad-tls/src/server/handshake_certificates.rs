//! Certificates of one handshake, for servers whose certificates are named by variables.

use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, SignatureAlgorithm};

use super::preference::CertificatePreference;

/// Certificates of one handshake, those with RSA keys last.
#[derive(Debug)]
struct HandshakeCertificates {
    all: Vec<Arc<CertifiedKey>>,
    preference: CertificatePreference,
}

/// Returns a copy of a server's TLS settings with the certificates `all` instead of its own. If `is_clients` is true,
/// the client's order of preference decides between them; otherwise ECDSA is preferred to RSA. In both cases,
/// certificates that the client can use with TLS 1.2 come first.
pub fn with_certificates(
    config: &ServerConfig,
    mut all: Vec<Arc<CertifiedKey>>,
    is_clients: bool,
) -> Arc<ServerConfig> {
    all.sort_by_key(|certified| u8::from(certified.key.algorithm() == SignatureAlgorithm::RSA));
    let mut own = config.clone();
    let suites = config.crypto_provider().cipher_suites.as_slice().into();
    own.cert_resolver =
        Arc::new(HandshakeCertificates { all, preference: CertificatePreference { suites, is_clients } });
    Arc::new(own)
}

impl ResolvesServerCert for HandshakeCertificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.preference.choose(&hello, self.all.iter().cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificates::certified_key::certified_key;
    use crate::testing::{TestCertificate, TestClient, TestSite, der};
    use myriad_conf::model::AcmeKeyKind;

    #[test]
    fn certificates_of_one_handshake_take_the_place_of_the_servers_own() {
        let config = TestSite::server("", &[]).config().unwrap();
        let provider = config.crypto_provider();
        let pairs = [AcmeKeyKind::Rsa2048, AcmeKeyKind::P256].map(|kind| TestCertificate::of(kind, "a.test"));
        let all =
            pairs.iter().map(|made| certified_key(&made.certificate, &made.key, &[], provider).unwrap().0);
        let own = with_certificates(&config, all.collect(), false);
        let client = TestClient::new();
        client.handshake(&own).unwrap();
        assert_eq!(client.shown().0, der(&pairs[1].certificate), "ECDSA comes first");
        let other = TestClient::new();
        other.handshake(&config).unwrap();
        assert_ne!(other.shown().0, der(&pairs[1].certificate));
        assert!(TestClient::new().handshake(&with_certificates(&config, Vec::new(), true)).is_err());
    }
}
