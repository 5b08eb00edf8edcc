//! Trusted authorities.

use std::fmt;

use crate::x509::certificate::Certificate;
use crate::x509::crl::RevocationList;
use crate::x509::der::MalformedDer;

/// Trusted authorities and their revocation lists.
#[derive(Default)]
pub struct TrustStore {
    pub(crate) anchors: Vec<TrustedCertificate>,
    pub(crate) lists: Vec<RevocationList>,
    /// Maximum number of authorities between a certificate and a root (`ssl_verify_depth`).
    pub(crate) depth: u32,
}

/// Trusted certificate.
pub(crate) struct TrustedCertificate {
    pub(crate) der: Box<[u8]>,
    pub(crate) subject: Box<[u8]>,
}

impl fmt::Debug for TrustStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust")
            .field("anchors", &self.anchors.len())
            .field("lists", &self.lists)
            .field("depth", &self.depth)
            .finish()
    }
}

impl TrustStore {
    /// Creates an empty set. At most `depth` authorities may be between a certificate and a root.
    pub fn new(depth: u32) -> Self {
        Self { depth, ..Self::default() }
    }

    /// Adds a trusted authority.
    pub fn add(&mut self, der: &[u8]) -> Result<(), MalformedDer> {
        let subject = Certificate::parse(der)?.subject.der().into();
        if !self.anchors.iter().any(|known| *known.der == *der) {
            self.anchors.push(TrustedCertificate { der: der.into(), subject });
        }
        Ok(())
    }

    /// Adds a revocation list. From now on each issuer must have a list.
    pub fn add_revocation_list(&mut self, list: RevocationList) {
        self.lists.push(list);
    }
}
