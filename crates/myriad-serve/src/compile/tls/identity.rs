//! Certificates with their keys, and which of them a client gets.

use std::path::Path;
use std::sync::Arc;

use myriad_conf::settings::TlsSettings;
use myriad_conf::{Diagnostic, Text};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{SignatureScheme, SupportedCipherSuite};

use super::{TlsFiles, tls_path};

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
        files: &TlsFiles,
        folder: &Path,
        provider: &CryptoProvider,
    ) -> Result<Self, Box<Diagnostic>> {
        let read = |name: &Text| {
            let path = tls_path(folder, name);
            files.get(&path).ok_or_else(|| fail(name, format!("cannot read \"{}\"", path.display())))
        };
        let mut identities = Vec::new();
        for (index, certificate) in settings.certificates.iter().enumerate() {
            let Some(key) = settings.keys.get(index) else {
                let error = format!(
                    "no \"ssl_certificate_key\" is defined for certificate \"{}\"",
                    certificate.lossy()
                );
                return Err(fail(certificate, error));
            };
            let chain = chain(certificate, read(certificate)?)?;
            let signing = private_key(key, read(key)?, provider)?;
            let identity = CertifiedKey::new(chain, signing);
            match identity.keys_match() {
                Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {}
                Err(rustls::Error::InconsistentKeys(_)) => {
                    let error = format!(
                        "the key \"{}\" does not belong to the certificate \"{}\"",
                        key.lossy(),
                        certificate.lossy()
                    );
                    return Err(fail(key, error));
                }
                // A certificate without extensions, of version 1: clients judge it, and the key cannot be compared.
                Err(error) if error.to_string().contains("UnsupportedCertVersion") => {}
                Err(error) => return Err(fail(certificate, not_usable(certificate, &error.to_string()))),
            }
            identities.push(Arc::new(identity));
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

fn chain(name: &Text, bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, Box<Diagnostic>> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(bytes).collect();
    match chain {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        Ok(_) => Err(fail(name, not_usable(name, "it holds no certificate in PEM"))),
        Err(error) => Err(fail(name, not_usable(name, &error.to_string()))),
    }
}

fn private_key(
    name: &Text,
    bytes: &[u8],
    provider: &CryptoProvider,
) -> Result<Arc<dyn rustls::sign::SigningKey>, Box<Diagnostic>> {
    let protected = [&b"ENCRYPTED PRIVATE KEY"[..], b"Proc-Type: 4,ENCRYPTED"];
    if protected.iter().any(|mark| bytes.windows(mark.len()).any(|window| window == *mark)) {
        let error = not_usable(name, "keys under a password are not supported yet");
        return Err(fail(name, error));
    }
    let key = PrivateKeyDer::from_pem_slice(bytes)
        .map_err(|error| fail(name, not_usable(name, &error.to_string())))?;
    provider
        .key_provider
        .load_private_key(key)
        .map_err(|error| fail(name, not_usable(name, &error.to_string())))
}

fn not_usable(name: &Text, why: &str) -> String {
    format!("cannot use \"{}\": {why}", name.lossy())
}

#[expect(clippy::unnecessary_box_returns, reason = "results carry it boxed")]
fn fail(name: &Text, message: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(name.span, message))
}
