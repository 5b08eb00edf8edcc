//! Certificates with their keys, and which of them a client gets.

use std::sync::Arc;

use myriad_conf::Diagnostic;
use myriad_conf::settings::TlsSettings;
use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{SignatureScheme, SupportedCipherSuite};

use super::files::{Files, fail};

/// The certificates of a server: one of each kind of key, as a rule.
#[derive(Debug)]
pub(super) struct Identities {
    /// Those with ECDSA come first, being cheaper.
    all: Vec<Arc<CertifiedKey>>,
    /// The suites of the server.
    suites: Vec<SupportedCipherSuite>,
}

impl ResolvesServerCert for Identities {
    /// The first whose key can sign in a way that the client understands, under a suite that both have.
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let schemes = hello.signature_schemes();
        let shared = || self.suites.iter().filter(|suite| hello.cipher_suites().contains(&suite.suite()));
        let fits = |identity: &&Arc<CertifiedKey>| {
            let signs = |schemes: &[SignatureScheme]| identity.key.choose_scheme(schemes).is_some();
            signs(schemes)
                && shared().any(|suite| match suite {
                    SupportedCipherSuite::Tls12(suite) => signs(suite.sign),
                    SupportedCipherSuite::Tls13(_) => true,
                })
        };
        self.all.iter().find(fits).cloned()
    }
}

impl Identities {
    pub(super) fn read(
        settings: &TlsSettings,
        files: Files<'_>,
        provider: &CryptoProvider,
    ) -> Result<Self, Box<Diagnostic>> {
        let passwords = files.passwords(settings.password_file.as_ref())?;
        let mut identities = Vec::new();
        for (index, certificate) in settings.certificates.iter().enumerate() {
            let Some(key) = settings.keys.get(index) else {
                let error = format!(
                    "no \"ssl_certificate_key\" is defined for certificate \"{}\"",
                    certificate.lossy()
                );
                return Err(fail(certificate, error));
            };
            identities.push(files.certified((certificate, key), &passwords, provider)?);
        }
        identities
            .sort_by_key(|identity| u8::from(identity.key.algorithm() == rustls::SignatureAlgorithm::RSA));
        let spoken = |suite: &&SupportedCipherSuite| match suite {
            SupportedCipherSuite::Tls12(_) => settings.tls12,
            SupportedCipherSuite::Tls13(_) => settings.tls13,
        };
        let suites = provider.cipher_suites.iter().filter(spoken).copied().collect();
        Ok(Self { all: identities, suites })
    }
}
