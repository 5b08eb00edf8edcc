//! Sources of a server's TLS certificate: files, with or without a stapled OCSP response, or an automatic certificate.

use std::sync::Arc;

use crate::acme_client::{CertificateSlot, OcspStaple};
use myriad_conf::model::AcmeKeyKind;
use parking_lot::Mutex;
use rustls::sign::CertifiedKey;

/// Source of a server's certificate with its key. The certificate may change while the server runs.
#[derive(Debug)]
pub(super) enum CertificateSource {
    /// Certificate from files, possibly with an OCSP response from a file.
    Fixed(Arc<CertifiedKey>),
    /// Certificate from files, with an OCSP response that is updated in the background.
    Stapled(StapledCertificate),
    /// Automatic certificate, issued and renewed while the server runs.
    Ordered(Arc<CertificateSlot>),
}

impl CertificateSource {
    /// Returns the current certificate; `None` if an automatic certificate has not been issued yet.
    pub(super) fn certified(&self) -> Option<Arc<CertifiedKey>> {
        match self {
            Self::Fixed(certified) => Some(Arc::clone(certified)),
            Self::Stapled(stapled) => Some(stapled.certified()),
            Self::Ordered(slot) => slot.certified(),
        }
    }

    /// Returns the algorithm of the certificate's key; `None` for an automatic certificate, issued or not.
    pub(super) fn kind(&self) -> Option<rustls::SignatureAlgorithm> {
        match self {
            Self::Fixed(certified) | Self::Stapled(StapledCertificate { bare: certified, .. }) => {
                Some(certified.key.algorithm())
            }
            Self::Ordered(_) => None,
        }
    }

    /// Returns true if the key is an RSA key; for an automatic certificate, if an RSA key is configured.
    pub(super) fn is_rsa(&self) -> bool {
        match self {
            Self::Fixed(_) | Self::Stapled(_) => self.kind() == Some(rustls::SignatureAlgorithm::RSA),
            Self::Ordered(slot) => {
                matches!(slot.order.key, AcmeKeyKind::Rsa2048 | AcmeKeyKind::Rsa3072 | AcmeKeyKind::Rsa4096)
            }
        }
    }
}

/// Certificate to which the current OCSP response is stapled, if there is one.
#[derive(Debug)]
pub(super) struct StapledCertificate {
    bare: Arc<CertifiedKey>,
    staple: Arc<OcspStaple>,
    /// Certificate with the OCSP response whose number ([`OcspStaple::number`]) is the first value. Created again when
    /// the number changes.
    made: Mutex<(u64, Arc<CertifiedKey>)>,
}

impl StapledCertificate {
    pub(super) fn new(bare: Arc<CertifiedKey>, staple: Arc<OcspStaple>) -> Self {
        // 0 is the number before the first response.
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

/// Returns a copy of the certificate with an OCSP response in DER (`answer`), which rustls staples.
pub(super) fn with_ocsp(certified: &CertifiedKey, answer: Vec<u8>) -> Arc<CertifiedKey> {
    let mut own = certified.clone();
    own.ocsp = Some(answer);
    Arc::new(own)
}
