//! Signed X.509 data and the verification of its signature.

use rustls_pki_types::SignatureVerificationAlgorithm;

use crate::x509::der::{DerReader, MalformedDer, tag};

/// Signature algorithms that are accepted in a verification.
pub type Algorithms<'a> = &'a [&'static dyn SignatureVerificationAlgorithm];

/// Public key in the form that signature algorithms expect.
#[derive(Clone, Copy, Debug)]
pub struct PublicKey<'a> {
    /// Content of the `AlgorithmIdentifier`, without tag and length.
    pub algorithm: &'a [u8],
    /// Bytes of the public key, without its algorithm.
    pub bytes: &'a [u8],
}

/// Signed X.509 data with its signature.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignedMessage<'a> {
    pub(crate) message: &'a [u8],
    /// Content of the `AlgorithmIdentifier` of the signature.
    pub(crate) algorithm: &'a [u8],
    pub(crate) signature: &'a [u8],
}

impl<'a> SignedMessage<'a> {
    /// Parses `SEQUENCE { message, algorithm, signature }`. Also returns a reader of the message's content. The
    /// signature is not verified.
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

/// Returns true if the key verifies the signature by one of the given algorithms.
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
