//! The authorities that are trusted.

use std::fmt;

use crate::certificate::Certificate;
use crate::crl::RevocationList;
use crate::der::Malformed;

/// Authorities that are trusted, and what they have taken back.
#[derive(Default)]
pub struct Trust {
    pub(crate) anchors: Vec<Anchor>,
    pub(crate) lists: Vec<RevocationList>,
    /// Most authorities between a certificate and a root (`ssl_verify_depth`).
    pub(crate) depth: u32,
}

/// A trusted certificate.
pub(crate) struct Anchor {
    pub(crate) der: Box<[u8]>,
    pub(crate) subject: Box<[u8]>,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust")
            .field("anchors", &self.anchors.len())
            .field("lists", &self.lists)
            .field("depth", &self.depth)
            .finish()
    }
}

impl Trust {
    /// Begins without authorities. At most `depth` authorities may stand between a certificate and a root.
    pub fn new(depth: u32) -> Self {
        Self { depth, ..Self::default() }
    }

    /// Trusts an authority.
    pub fn add(&mut self, der: &[u8]) -> Result<(), Malformed> {
        let subject = Certificate::parse(der)?.subject.der().into();
        if !self.anchors.iter().any(|known| *known.der == *der) {
            self.anchors.push(Anchor { der: der.into(), subject });
        }
        Ok(())
    }

    /// Asks from now on for a list of each issuer, this one among them.
    pub fn revoke(&mut self, list: RevocationList) {
        self.lists.push(list);
    }
}
