//! Signature algorithm that accepts every signature, so that the fuzzer reaches the code after the verification.

use rustls_pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id};

/// Algorithm that accepts any bytes as a P-256 signature.
#[derive(Debug)]
pub(crate) struct Gullible;

impl SignatureVerificationAlgorithm for Gullible {
    fn verify_signature(&self, _: &[u8], _: &[u8], _: &[u8]) -> Result<(), InvalidSignature> {
        Ok(())
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ECDSA_P256
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ECDSA_SHA256
    }
}
