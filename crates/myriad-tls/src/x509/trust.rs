//! Trusted CA certificates.

use std::fmt;

use crate::x509::certificate::Certificate;
use crate::x509::crl::RevocationList;
use crate::x509::der::MalformedDer;

/// Trusted CA certificates and revocation lists, against which chains are verified.
#[derive(Default)]
pub struct TrustStore {
    pub(crate) anchors: Vec<TrustedCertificate>,
    pub(crate) lists: Vec<RevocationList>,
    /// Maximum number of intermediate CAs in a path (`ssl_verify_depth`).
    pub(crate) depth: u32,
}

/// Trusted certificate in DER, with its subject in DER.
pub(crate) struct TrustedCertificate {
    pub(crate) der: Box<[u8]>,
    pub(crate) subject: Box<[u8]>,
}

impl fmt::Debug for TrustStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrustStore")
            .field("anchors", &self.anchors.len())
            .field("lists", &self.lists)
            .field("depth", &self.depth)
            .finish()
    }
}

impl TrustStore {
    /// Creates an empty store that allows at most `depth` intermediate CAs in a path.
    pub fn new(depth: u32) -> Self {
        Self { depth, ..Self::default() }
    }

    /// Adds a trusted CA certificate in DER, unless it is in the store already. Fails if the certificate is malformed.
    pub fn add(&mut self, der: &[u8]) -> Result<(), MalformedDer> {
        let subject = Certificate::parse(der)?.subject.der().into();
        if !self.contains(der) {
            self.anchors.push(TrustedCertificate { der: der.into(), subject });
        }
        Ok(())
    }

    /// Returns true if a certificate in DER is trusted.
    pub(crate) fn contains(&self, der: &[u8]) -> bool {
        self.anchors.iter().any(|known| *known.der == *der)
    }

    /// Adds a revocation list. Once the store has a list, each issuer in a path must have one.
    pub fn add_revocation_list(&mut self, list: RevocationList) {
        self.lists.push(list);
    }
}
