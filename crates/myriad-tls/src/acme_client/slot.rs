//! Slot of a certificate: handshakes read it, the agent replaces it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::x509::pem;
use parking_lot::RwLock;
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;

use crate::acme_client::error::Error;
use crate::acme_client::facts::Facts;
use crate::acme_client::issuer::CertificateOrder;
use crate::acme_client::key::SigningKey;

/// Certificate that is issued and renewed while handshakes use it.
pub struct Slot {
    /// Order of the certificate.
    pub order: CertificateOrder,
    ready: AtomicBool,
    held: RwLock<Option<Held>>,
}

#[derive(Clone)]
struct Held {
    certified: Arc<CertifiedKey>,
    facts: Arc<Facts>,
}

impl Slot {
    /// Creates an empty slot.
    pub fn new(order: CertificateOrder) -> Arc<Self> {
        Arc::new(Self { order, ready: AtomicBool::new(false), held: RwLock::new(None) })
    }

    /// Returns whether the slot contains a certificate.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Returns the certificate with its key, for a handshake.
    pub fn certified(&self) -> Option<Arc<CertifiedKey>> {
        self.held.read().as_ref().map(|held| Arc::clone(&held.certified))
    }

    /// Returns the properties of the certificate.
    pub fn facts(&self) -> Option<Arc<Facts>> {
        self.held.read().as_ref().map(|held| Arc::clone(&held.facts))
    }

    /// Replaces the chain and its key, both in one PEM text. Fails if they do not match or do not contain the names of
    /// the order.
    pub fn fill(&self, text: &[u8]) -> Result<Arc<Facts>, Error> {
        let refuse = |why: &str| Error::Protocol(format!("the certificate {why}"));
        let chain: Vec<_> = pem::certificates(text).flatten().map(CertificateDer::from).collect();
        let facts = chain.first().and_then(|first| Facts::from_der(first));
        let facts = Arc::new(facts.ok_or_else(|| refuse("cannot be read"))?);
        for identifier in &self.order.identifiers {
            if !facts.is_for(&identifier.to_string()) {
                return Err(refuse(&format!("is not valid for {identifier}")));
            }
        }
        let key = SigningKey::from_pem(text).ok_or_else(|| refuse("is stored without its private key"))?;
        let signing = key.in_tls().map_err(|error| refuse(&error.to_string()))?;
        let certified = CertifiedKey::new(chain, signing);
        certified.keys_match().map_err(|error| refuse(&error.to_string()))?;
        *self.held.write() = Some(Held { certified: Arc::new(certified), facts: Arc::clone(&facts) });
        self.ready.store(true, Ordering::Release);
        Ok(facts)
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("order", &self.order)
            .field("ready", &self.is_ready())
            .finish_non_exhaustive()
    }
}
