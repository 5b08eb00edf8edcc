//! Signatures: signed data, keys, and verification.

use rustls_pki_types::SignatureVerificationAlgorithm;

use crate::x509::der::{DerReader, MalformedDer, tag};

/// Accepted signature algorithms.
pub type Algorithms<'a> = &'a [&'static dyn SignatureVerificationAlgorithm];

/// Public key in the form used by signature algorithms.
#[derive(Clone, Copy, Debug)]
pub struct PublicKey<'a> {
    /// Content of its `AlgorithmIdentifier`, without tag and length.
    pub algorithm: &'a [u8],
    /// Bytes of the key.
    pub bytes: &'a [u8],
}

/// Signed message, algorithm, and signature.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignedMessage<'a> {
    pub(crate) message: &'a [u8],
    /// Content of the `AlgorithmIdentifier`.
    pub(crate) algorithm: &'a [u8],
    pub(crate) signature: &'a [u8],
}

impl<'a> SignedMessage<'a> {
    /// Parses `SEQUENCE { message, algorithm, signature }`.
    pub(crate) fn read(der: &'a [u8]) -> Result<(Self, DerReader<'a>), MalformedDer> {
        let mut outer = DerReader::new(der);
        let mut parts = outer.inside(tag::SEQUENCE)?;
        outer.end()?;
        let message = parts.expect(tag::SEQUENCE)?;
        let algorithm = parts.expect(tag::SEQUENCE)?.content;
        let signature = parts.bits()?;
        parts.end()?;
        Ok((Self { message: message.whole, algorithm, signature }, message.values()))
    }
}

/// Returns whether a key verifies a signature, by one of these algorithms.
pub(crate) fn is_signed_by(
    signed: &SignedMessage<'_>,
    key: &PublicKey<'_>,
    algorithms: Algorithms<'_>,
) -> bool {
    let mut ways = algorithms.iter().filter(|algorithm| {
        algorithm.signature_alg_id().as_ref() == signed.algorithm
            && algorithm.public_key_alg_id().as_ref() == key.algorithm
    });
    ways.any(|algorithm| algorithm.verify_signature(key.bytes, signed.message, signed.signature).is_ok())
}
