//! Certificates with their keys, and which of them a client gets.

use std::sync::Arc;

use myriad_acme::{KeyKind, Slot, Staple};
use myriad_conf::settings::TlsSettings;
use myriad_conf::{Diagnostic, Text};
use parking_lot::Mutex;
use rustls::SupportedCipherSuite;
use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::files::{Files, fail};
use super::named;
use crate::tls::Preference;

/// The certificates of a server: one of each kind of key, as a rule.
#[derive(Debug)]
pub(super) struct Identities {
    /// Those with ECDSA come first, being cheaper.
    all: Vec<Identity>,
    preference: Preference,
}

/// A certificate with its key.
#[derive(Debug)]
enum Identity {
    /// From files.
    Fixed(Arc<CertifiedKey>),
    /// From files, shown with what its authority says of it.
    Stapled(Stapled),
    /// Ordered from an authority: it comes, and is renewed, while clients do.
    Ordered(Arc<Slot>),
}

impl Identity {
    /// As it is now; none while it has not come.
    fn certified(&self) -> Option<Arc<CertifiedKey>> {
        match self {
            Self::Fixed(certified) => Some(Arc::clone(certified)),
            Self::Stapled(stapled) => Some(stapled.certified()),
            Self::Ordered(slot) => slot.certified(),
        }
    }

    /// The kind of its key; none of what is ordered.
    fn kind(&self) -> Option<rustls::SignatureAlgorithm> {
        match self {
            Self::Fixed(certified) | Self::Stapled(Stapled { bare: certified, .. }) => {
                Some(certified.key.algorithm())
            }
            Self::Ordered(_) => None,
        }
    }

    fn is_rsa(&self) -> bool {
        match self {
            Self::Fixed(_) | Self::Stapled(_) => self.kind() == Some(rustls::SignatureAlgorithm::RSA),
            Self::Ordered(slot) => {
                matches!(slot.order.key, KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Rsa4096)
            }
        }
    }
}

/// A certificate that is shown with the answer that is there.
#[derive(Debug)]
struct Stapled {
    bare: Arc<CertifiedKey>,
    staple: Arc<Staple>,
    /// With the answer of that number.
    made: Mutex<(u64, Arc<CertifiedKey>)>,
}

impl Stapled {
    fn new(bare: Arc<CertifiedKey>, staple: Arc<Staple>) -> Self {
        // The number of no answer.
        let made = Mutex::new((0, Arc::clone(&bare)));
        Self { bare, staple, made }
    }

    fn certified(&self) -> Arc<CertifiedKey> {
        let number = self.staple.number();
        let mut made = self.made.lock();
        if made.0 != number {
            let certified = match self.staple.answer() {
                Some(answer) => with_ocsp(&self.bare, answer.to_vec()),
                None => Arc::clone(&self.bare),
            };
            *made = (number, certified);
        }
        Arc::clone(&made.1)
    }
}

/// Whether the client's order decides which certificate it gets.
pub(super) fn is_clients(settings: &TlsSettings) -> bool {
    settings.prefer_server_ciphers != Some(true)
}

/// Whether the name stands for what `acme_certificate` orders.
pub(in crate::compile) fn is_ordered(name: &Text) -> bool {
    matches!(name.bytes(), b"$acme_certificate" | b"$acme_certificate_key")
}

impl ResolvesServerCert for Identities {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.preference.choose(&hello, self.all.iter().filter_map(Identity::certified))
    }
}

impl Identities {
    pub(super) fn read(
        settings: &TlsSettings,
        (ordered, staples): (Option<&Arc<Slot>>, &[Option<Arc<Staple>>]),
        files: Files<'_>,
        provider: &CryptoProvider,
    ) -> Result<Self, Box<Diagnostic>> {
        let passwords = files.passwords(settings.password_file.as_ref())?;
        let is_clients = is_clients(settings);
        let mut identities = Vec::new();
        if named::are_named(settings) {
            return Ok(Self { all: Vec::new(), preference: Preference { suites: Vec::new(), is_clients } });
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
            identities.retain(|known: &Identity| known.kind() != Some(kind));
            let staple = staples.get(index).and_then(Option::as_ref);
            identities.push(match (stapled, staple) {
                (Some(file), _) => Identity::Fixed(with_ocsp(&certified, files.ocsp_answer(file)?)),
                (None, Some(staple)) => Identity::Stapled(Stapled::new(certified, Arc::clone(staple))),
                (None, None) => Identity::Fixed(certified),
            });
        }
        identities.sort_by_key(Identity::is_rsa);
        let spoken = |suite: &&SupportedCipherSuite| match suite {
            SupportedCipherSuite::Tls12(_) => settings.tls12,
            SupportedCipherSuite::Tls13(_) => settings.tls13,
        };
        let suites = provider.cipher_suites.iter().filter(spoken).copied().collect();
        Ok(Self { all: identities, preference: Preference { suites, is_clients } })
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
