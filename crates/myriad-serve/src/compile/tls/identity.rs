//! Certificates with their keys, and which of them a client gets.

use std::sync::Arc;

use myriad_acme::{KeyKind, Slot};
use myriad_conf::settings::TlsSettings;
use myriad_conf::{Diagnostic, Text};
use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{SignatureScheme, SupportedCipherSuite};

use super::files::{Files, fail};
use super::named;

/// The certificates of a server: one of each kind of key, as a rule.
#[derive(Debug)]
pub(super) struct Identities {
    /// Those with ECDSA come first, being cheaper.
    all: Vec<Identity>,
    /// The suites of the server.
    suites: Vec<SupportedCipherSuite>,
}

/// A certificate with its key.
#[derive(Debug)]
enum Identity {
    /// From files.
    Fixed(Arc<CertifiedKey>),
    /// Ordered from an authority: it comes, and is renewed, while clients do.
    Ordered(Arc<Slot>),
}

impl Identity {
    /// As it is now; none while it has not come.
    fn certified(&self) -> Option<Arc<CertifiedKey>> {
        match self {
            Self::Fixed(certified) => Some(Arc::clone(certified)),
            Self::Ordered(slot) => slot.certified(),
        }
    }

    fn is_rsa(&self) -> bool {
        match self {
            Self::Fixed(certified) => certified.key.algorithm() == rustls::SignatureAlgorithm::RSA,
            Self::Ordered(slot) => {
                matches!(slot.order.key, KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Rsa4096)
            }
        }
    }
}

/// Whether the name stands for what `acme_certificate` orders.
pub(in crate::compile) fn is_ordered(name: &Text) -> bool {
    matches!(name.bytes(), b"$acme_certificate" | b"$acme_certificate_key")
}

impl ResolvesServerCert for Identities {
    /// The first whose key can sign in a way that the client understands, under a suite that both have.
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let schemes = hello.signature_schemes();
        let shared = || self.suites.iter().filter(|suite| hello.cipher_suites().contains(&suite.suite()));
        let fits = |identity: &Arc<CertifiedKey>| {
            let signs = |schemes: &[SignatureScheme]| identity.key.choose_scheme(schemes).is_some();
            signs(schemes)
                && shared().any(|suite| match suite {
                    SupportedCipherSuite::Tls12(suite) => signs(suite.sign),
                    SupportedCipherSuite::Tls13(_) => true,
                })
        };
        self.all.iter().filter_map(Identity::certified).find(fits)
    }
}

impl Identities {
    pub(super) fn read(
        settings: &TlsSettings,
        ordered: Option<&Arc<Slot>>,
        files: Files<'_>,
        provider: &CryptoProvider,
    ) -> Result<Self, Box<Diagnostic>> {
        let passwords = files.passwords(settings.password_file.as_ref())?;
        let mut identities = Vec::new();
        if named::are_named(settings) {
            return Ok(Self { all: Vec::new(), suites: Vec::new() });
        }
        for (index, certificate) in settings.certificates.iter().enumerate() {
            let Some(key) = settings.keys.get(index) else {
                let error = format!(
                    "no \"ssl_certificate_key\" is defined for certificate \"{}\"",
                    certificate.lossy()
                );
                return Err(fail(certificate, error));
            };
            if is_ordered(certificate) || is_ordered(key) {
                identities.push(Identity::Ordered(both_ordered(certificate, key, ordered)?));
                continue;
            }
            let certified = files.certified((certificate, key), &passwords, provider)?;
            let stapled = settings.stapling_file.as_ref().filter(|_| settings.stapling && index == 0);
            // Of two with the same kind of key the later one counts, as in OpenSSL.
            let kind = certified.key.algorithm();
            identities
                .retain(|known| !matches!(known, Identity::Fixed(known) if known.key.algorithm() == kind));
            identities.push(Identity::Fixed(match stapled {
                Some(file) => with_ocsp(&certified, files.bytes(file)?.into_owned()),
                None => certified,
            }));
        }
        identities.sort_by_key(Identity::is_rsa);
        let spoken = |suite: &&SupportedCipherSuite| match suite {
            SupportedCipherSuite::Tls12(_) => settings.tls12,
            SupportedCipherSuite::Tls13(_) => settings.tls13,
        };
        let suites = provider.cipher_suites.iter().filter(spoken).copied().collect();
        Ok(Self { all: identities, suites })
    }
}

/// `$acme_certificate` and `$acme_certificate_key` go together, and where something is ordered.
fn both_ordered(
    certificate: &Text,
    key: &Text,
    ordered: Option<&Arc<Slot>>,
) -> Result<Arc<Slot>, Box<Diagnostic>> {
    if !is_ordered(certificate) || !is_ordered(key) || certificate.bytes() == key.bytes() {
        let error =
            "\"ssl_certificate $acme_certificate\" goes with \"ssl_certificate_key $acme_certificate_key\"";
        return Err(fail(key, error.to_owned()));
    }
    let missing = || fail(certificate, "nothing is ordered by \"acme_certificate\" here".to_owned());
    ordered.map(Arc::clone).ok_or_else(missing)
}

/// The same with an OCSP answer to be stapled.
fn with_ocsp(certified: &CertifiedKey, answer: Vec<u8>) -> Arc<CertifiedKey> {
    let mut own = certified.clone();
    own.ocsp = Some(answer);
    Arc::new(own)
}
