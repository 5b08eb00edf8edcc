//! Storage of an automatic certificate, read by handshakes and replaced by the ACME agent.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::x509::pem;
use parking_lot::RwLock;
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;
use zeroize::Zeroizing;

use crate::acme_client::certificate_info::CertificateInfo;
use crate::acme_client::error::AcmeError;
use crate::acme_client::issuer::CertificateOrder;
use crate::acme_client::key::SigningKey;

/// Storage of an automatic certificate, which handshakes use and which can be replaced at any time. Empty until the
/// certificate is issued, or loaded from its file.
pub struct CertificateSlot {
    /// Requested names and key type of the certificate.
    pub order: CertificateOrder,
    /// Set once a certificate is in the slot; readable without the lock.
    ready: AtomicBool,
    /// Number of certificates that have been in the slot.
    version: AtomicU64,
    issued: RwLock<Option<IssuedCertificate>>,
}

#[derive(Clone)]
struct IssuedCertificate {
    certified: Arc<CertifiedKey>,
    facts: Arc<CertificateInfo>,
    /// Chain and private key in PEM, for the other nodes of a cluster.
    text: Arc<Zeroizing<Vec<u8>>>,
}

impl CertificateSlot {
    /// Creates a slot without a certificate.
    pub fn new(order: CertificateOrder) -> Arc<Self> {
        let (ready, version) = (AtomicBool::new(false), AtomicU64::new(0));
        Arc::new(Self { order, ready, version, issued: RwLock::new(None) })
    }

    /// Returns true if the slot contains a certificate.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Returns the certificate chain with its key, for handshakes; `None` if the slot is empty.
    pub fn certified(&self) -> Option<Arc<CertifiedKey>> {
        self.issued.read().as_ref().map(|held| Arc::clone(&held.certified))
    }

    /// Returns the properties of the certificate; `None` if the slot is empty.
    pub fn info(&self) -> Option<Arc<CertificateInfo>> {
        self.issued.read().as_ref().map(|held| Arc::clone(&held.facts))
    }

    /// Returns the number of certificates that have been in the slot. It changes with each certificate.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Returns the chain and the private key in PEM; `None` if the slot is empty.
    pub fn text(&self) -> Option<Arc<Zeroizing<Vec<u8>>>> {
        self.issued.read().as_ref().map(|held| Arc::clone(&held.text))
    }

    /// Returns true if the slot has a certificate that is valid, and not in the last tenth of its lifetime, at a time in
    /// seconds since the Unix epoch.
    pub fn is_usable(&self, now_s: u64) -> bool {
        self.info().is_some_and(|info| {
            let life = info.not_after_s.saturating_sub(info.not_before_s);
            info.not_before_s <= now_s && now_s < info.not_after_s.saturating_sub(life / 10)
        })
    }

    /// Replaces the certificate as [`Self::fill`] does, if the new one has not expired at `now_s` (seconds since the
    /// Unix epoch) and is newer than the current one ([`CertificateInfo::is_newer_than`]). Returns true if it was
    /// replaced.
    pub fn fill_newer(&self, text: &[u8], now_s: u64) -> Result<bool, AcmeError> {
        let info = CertificateInfo::from_pem(text);
        let info = info.ok_or_else(|| AcmeError::Certificate("the certificate cannot be read".to_owned()))?;
        let is_newer = self.info().is_none_or(|own| info.is_newer_than(&own));
        if !is_newer || info.not_after_s <= now_s {
            return Ok(false);
        }
        self.fill(text)?;
        Ok(true)
    }

    /// Replaces the certificate and returns its properties. `text` contains the chain and the private key in PEM.
    /// Returns an error, without effect, if one of them cannot be read, the key does not match, or the certificate
    /// lacks a name of the order.
    pub fn fill(&self, text: &[u8]) -> Result<Arc<CertificateInfo>, AcmeError> {
        let refuse = |why: &str| AcmeError::Certificate(format!("the certificate {why}"));
        let chain: Vec<_> = pem::certificates(text).flatten().map(CertificateDer::from).collect();
        let facts = chain.first().and_then(|first| CertificateInfo::from_der(first));
        let facts = Arc::new(facts.ok_or_else(|| refuse("cannot be read"))?);
        for identifier in &self.order.identifiers {
            if !facts.is_valid_for(&identifier.to_string()) {
                return Err(refuse(&format!("is not valid for {identifier}")));
            }
        }
        let key = SigningKey::from_pem(text).ok_or_else(|| refuse("has no usable private key"))?;
        let unusable = |error| refuse(&format!("cannot be used with its private key: {error}"));
        let signing = key.in_tls().map_err(unusable)?;
        let certified = CertifiedKey::new(chain, signing);
        certified.keys_match().map_err(unusable)?;
        *self.issued.write() = Some(IssuedCertificate {
            certified: Arc::new(certified),
            facts: Arc::clone(&facts),
            text: Arc::new(text.to_vec().into()),
        });
        self.version.fetch_add(1, Ordering::AcqRel);
        self.ready.store(true, Ordering::Release);
        Ok(facts)
    }
}

impl fmt::Debug for CertificateSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateSlot")
            .field("order", &self.order)
            .field("ready", &self.is_ready())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acme_client::csr;
    use crate::testing::TestCertificate;
    use myriad_conf::model::{AcmeIdentifier, AcmeKeyKind};

    fn slot(name: &str) -> Arc<CertificateSlot> {
        let identifiers = vec![AcmeIdentifier::Dns(name.to_owned())];
        CertificateSlot::new(CertificateOrder { identifiers, key: AcmeKeyKind::P256 })
    }

    /// Returns a certificate for `a.test` and its key in PEM. It is valid for one day from `not_before_s` (seconds
    /// since the Unix epoch) on.
    fn short_certificate(not_before_s: u64) -> Vec<u8> {
        let key = SigningKey::generate(AcmeKeyKind::P256).expect("a key");
        let names = [AcmeIdentifier::Dns("a.test".to_owned())];
        let der = csr::self_signed(&key, &names, not_before_s + 86_400, 0).expect("a certificate");
        [pem::block("CERTIFICATE", &der).as_bytes(), key.to_pem().as_bytes()].concat()
    }

    #[test]
    fn certificate_of_another_node_is_used_if_it_fits_and_is_newer() {
        let text = TestCertificate::usual().both();
        let own = slot("a.test");
        let info = CertificateInfo::from_pem(&text).expect("a certificate");
        let now_s = info.not_before_s;
        assert!(!own.fill_newer(&text, info.not_after_s).expect("valid"), "expired");
        assert!(own.fill_newer(&text, now_s).expect("valid"));
        assert!(!own.fill_newer(&text, now_s).expect("valid"), "the same one");
        assert_eq!((own.version(), own.text().map(|text| text.to_vec())), (1, Some(text.clone())));
        assert!(own.is_usable(now_s) && !own.is_usable(info.not_after_s - 1));
        let other = TestCertificate::usual();
        let mismatch = [&other.certificate[..], &TestCertificate::usual().key].concat();
        let renewed = short_certificate(now_s + 3600);
        assert!(own.fill_newer(&renewed, now_s + 3600).expect("valid"), "issued later, for a shorter time");
        assert!(!own.fill_newer(&text, now_s + 3600).expect("valid"), "the renewal is not undone");
        for (name, text) in [("b.test", &text[..]), ("a.test", &mismatch), ("a.test", b"nothing")] {
            let slot = slot(name);
            assert!(slot.fill_newer(text, now_s).is_err() && !slot.is_ready(), "{name}");
        }
    }
}
