//! Whom to trust, and the judgement on a chain.

use std::fmt;

use rustls_pki_types::SignatureVerificationAlgorithm;

use crate::certificate::{Certificate, PublicKey, Signed};
use crate::crl::RevocationList;
use crate::der::Malformed;
use crate::error::VerifyError;
use crate::path::{self, Purpose};

/// The ways of signing that are good enough.
pub type Algorithms<'a> = &'a [&'static dyn SignatureVerificationAlgorithm];

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
    /// Trusts nobody. At most `depth` authorities may stand between a certificate and a root.
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

    /// Whether a chain, whose first certificate is the one in question, ends with somebody trusted, and nothing on the way
    /// speaks against it. `now_s` in seconds since the Unix epoch, and so is the last moment at which that still holds.
    pub fn verify<C: AsRef<[u8]>>(
        &self,
        chain: &[C],
        purpose: Purpose,
        now_s: i64,
        algorithms: Algorithms<'_>,
    ) -> Result<i64, VerifyError> {
        path::verify(self, chain, purpose, now_s, algorithms)
    }
}

impl Certificate<'_> {
    /// Whether whom it names has signed a message, in one of these ways.
    pub fn has_signed(&self, message: &[u8], signature: &[u8], algorithms: Algorithms<'_>) -> bool {
        let key = &self.public_key;
        let of_key = |algorithm: &&&dyn SignatureVerificationAlgorithm| {
            algorithm.public_key_alg_id().as_ref() == key.algorithm
        };
        let mut ways = algorithms.iter().filter(of_key);
        ways.any(|algorithm| algorithm.verify_signature(key.bytes, message, signature).is_ok())
    }
}

pub(crate) fn is_signed_by(signed: &Signed<'_>, key: &PublicKey<'_>, algorithms: Algorithms<'_>) -> bool {
    let mut ways = algorithms.iter().filter(|algorithm| {
        algorithm.signature_alg_id().as_ref() == signed.algorithm
            && algorithm.public_key_alg_id().as_ref() == key.algorithm
    });
    ways.any(|algorithm| algorithm.verify_signature(key.bytes, signed.message, signed.signature).is_ok())
}
