//! Certificates of one handshake, named by variables.

use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, SignatureAlgorithm};

use super::preference::Preference;

/// Certificates of one handshake, ECDSA before RSA.
#[derive(Debug)]
struct Chosen {
    all: Vec<Arc<CertifiedKey>>,
    preference: Preference,
}

/// Returns the settings with these certificates. `is_clients` selects by the client's order; otherwise ECDSA is
/// preferred.
pub fn with_certificates(
    config: &ServerConfig,
    mut all: Vec<Arc<CertifiedKey>>,
    is_clients: bool,
) -> Arc<ServerConfig> {
    all.sort_by_key(|certified| u8::from(certified.key.algorithm() == SignatureAlgorithm::RSA));
    let mut own = config.clone();
    let suites = config.crypto_provider().cipher_suites.as_slice().into();
    own.cert_resolver = Arc::new(Chosen { all, preference: Preference { suites, is_clients } });
    Arc::new(own)
}

impl ResolvesServerCert for Chosen {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.preference.choose(&hello, self.all.iter().cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificates::certified::certified;
    use crate::testing::{Client, Made, Site, der};
    use myriad_conf::model::AcmeKeyKind;

    #[test]
    fn certificates_of_one_handshake_take_the_place_of_the_servers_own() {
        let config = Site::server("", &[]).config().unwrap();
        let provider = config.crypto_provider();
        let pairs = [AcmeKeyKind::Rsa2048, AcmeKeyKind::P256].map(|kind| Made::of(kind, "a.test"));
        let all = pairs.iter().map(|made| certified(&made.certificate, &made.key, &[], provider).unwrap().0);
        let own = with_certificates(&config, all.collect(), false);
        let client = Client::new();
        client.shake(&own).unwrap();
        assert_eq!(client.shown().0, der(&pairs[1].certificate), "ECDSA comes first");
        let other = Client::new();
        other.shake(&config).unwrap();
        assert_ne!(other.shown().0, der(&pairs[1].certificate));
        assert!(Client::new().shake(&with_certificates(&config, Vec::new(), true)).is_err());
    }
}
