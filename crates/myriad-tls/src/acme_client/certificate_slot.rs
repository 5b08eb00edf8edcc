//! Storage of an automatic certificate, read by handshakes and replaced by the ACME agent.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::x509::pem;
use parking_lot::RwLock;
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;

use crate::acme_client::certificate_info::CertificateInfo;
use crate::acme_client::error::AcmeError;
use crate::acme_client::issuer::CertificateOrder;
use crate::acme_client::key::SigningKey;

/// Automatic certificate that is used by handshakes and can be replaced at any time. Empty until one is issued.
pub struct CertificateSlot {
    /// Requested names and key type of the certificate.
    pub order: CertificateOrder,
    /// Set once a certificate is in the slot; readable without the lock.
    ready: AtomicBool,
    issued: RwLock<Option<IssuedCertificate>>,
}

#[derive(Clone)]
struct IssuedCertificate {
    certified: Arc<CertifiedKey>,
    facts: Arc<CertificateInfo>,
}

impl CertificateSlot {
    /// Creates a slot without a certificate.
    pub fn new(order: CertificateOrder) -> Arc<Self> {
        Arc::new(Self { order, ready: AtomicBool::new(false), issued: RwLock::new(None) })
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

    /// Replaces the certificate. `text` contains the chain and the private key in PEM. Returns an error, without
    /// effect, if one of them cannot be read, the key does not match, or the certificate lacks a name of the order.
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
        *self.issued.write() =
            Some(IssuedCertificate { certified: Arc::new(certified), facts: Arc::clone(&facts) });
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
