//! Signatures: what was signed, with which key, and whether it was.

use rustls_pki_types::SignatureVerificationAlgorithm;

use crate::der::{Malformed, Reader, tag};

/// The ways of signing that are good enough.
pub type Algorithms<'a> = &'a [&'static dyn SignatureVerificationAlgorithm];

/// A public key, as algorithms of signatures take it.
#[derive(Clone, Copy, Debug)]
pub struct PublicKey<'a> {
    /// The value of its `AlgorithmIdentifier`, without tag and length.
    pub algorithm: &'a [u8],
    /// The key.
    pub bytes: &'a [u8],
}

/// What was signed, how, and the signature.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signed<'a> {
    pub(crate) message: &'a [u8],
    /// The value of the `AlgorithmIdentifier`.
    pub(crate) algorithm: &'a [u8],
    pub(crate) signature: &'a [u8],
}

impl<'a> Signed<'a> {
    /// Reads `SEQUENCE { message, algorithm, signature }`.
    pub(crate) fn read(der: &'a [u8]) -> Result<(Self, Reader<'a>), Malformed> {
        let mut outer = Reader::new(der);
        let mut parts = outer.inside(tag::SEQUENCE)?;
        outer.end()?;
        let message = parts.expect(tag::SEQUENCE)?;
        let algorithm = parts.expect(tag::SEQUENCE)?.content;
        let signature = parts.bits()?;
        parts.end()?;
        Ok((Self { message: message.whole, algorithm, signature }, message.values()))
    }
}

/// Whether a key has made a signature, in one of these ways.
pub(crate) fn is_signed_by(signed: &Signed<'_>, key: &PublicKey<'_>, algorithms: Algorithms<'_>) -> bool {
    let mut ways = algorithms.iter().filter(|algorithm| {
        algorithm.signature_alg_id().as_ref() == signed.algorithm
            && algorithm.public_key_alg_id().as_ref() == key.algorithm
    });
    ways.any(|algorithm| algorithm.verify_signature(key.bytes, signed.message, signed.signature).is_ok())
}
