//! Private keys of ACME accounts and certificates.

use std::fmt;
use std::sync::Arc;

use crate::x509::der::{DerReader, tag};
use crate::x509::{pem, write as der};
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{self, EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair, RsaKeyPair};
use myriad_conf::model::AcmeKeyKind;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::sign;
use zeroize::Zeroizing;

use crate::acme_client::error::AcmeError;
use crate::acme_client::oid;

/// Elliptic curve with its algorithms and names.
struct Curve {
    kind: AcmeKeyKind,
    /// Algorithm for signatures as two numbers of fixed length (RFC 7518 section 3.4), for JSON Web Signatures.
    fixed: &'static EcdsaSigningAlgorithm,
    /// Algorithm for signatures in DER, for X.509.
    der: &'static EcdsaSigningAlgorithm,
    jwa: &'static str,
    jwk: &'static str,
    signature: &'static [u8],
}

static CURVES: [Curve; 3] = [
    Curve {
        kind: AcmeKeyKind::P256,
        fixed: &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
        der: &signature::ECDSA_P256_SHA256_ASN1_SIGNING,
        jwa: "ES256",
        jwk: "P-256",
        signature: oid::ECDSA_WITH_SHA256,
    },
    Curve {
        kind: AcmeKeyKind::P384,
        fixed: &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
        der: &signature::ECDSA_P384_SHA384_ASN1_SIGNING,
        jwa: "ES384",
        jwk: "P-384",
        signature: oid::ECDSA_WITH_SHA384,
    },
    Curve {
        kind: AcmeKeyKind::P521,
        fixed: &signature::ECDSA_P521_SHA512_FIXED_SIGNING,
        der: &signature::ECDSA_P521_SHA512_ASN1_SIGNING,
        jwa: "ES512",
        jwk: "P-521",
        signature: oid::ECDSA_WITH_SHA512,
    },
];

enum SigningPair {
    Ec { curve: &'static Curve, fixed: Box<EcdsaKeyPair>, der: Box<EcdsaKeyPair> },
    Rsa(Box<RsaKeyPair>),
}

/// Private signing key. Its PKCS #8 encoding is overwritten when dropped.
pub struct SigningKey {
    pair: SigningPair,
    pkcs8: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for SigningKey {
    /// Formats the algorithm for debugging, not the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("algorithm", &self.jwa()).finish_non_exhaustive()
    }
}

/// Components of a public key, as needed for a JSON Web Key (RFC 7517).
pub(crate) enum PublicParts {
    Ec { curve: &'static str, x: Vec<u8>, y: Vec<u8> },
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
}

impl SigningKey {
    /// Generates a random key.
    pub fn generate(kind: AcmeKeyKind) -> Result<Self, AcmeError> {
        let failed = |_| AcmeError::Cryptography("generating a key");
        let size = match kind {
            AcmeKeyKind::Rsa2048 => KeySize::Rsa2048,
            AcmeKeyKind::Rsa3072 => KeySize::Rsa3072,
            AcmeKeyKind::Rsa4096 => KeySize::Rsa4096,
            AcmeKeyKind::P256 | AcmeKeyKind::P384 | AcmeKeyKind::P521 => {
                let curve = CURVES
                    .iter()
                    .find(|curve| curve.kind == kind)
                    .ok_or(AcmeError::Cryptography("selecting a curve"))?;
                let pair = EcdsaKeyPair::generate(curve.fixed).map_err(failed)?;
                let pkcs8 = pair.to_pkcs8v1().map_err(failed)?;
                return Self::from_pkcs8(pkcs8.as_ref())
                    .ok_or(AcmeError::Cryptography("parsing the generated private key"));
            }
        };
        let pair = RsaKeyPair::generate(size).map_err(failed)?;
        let pkcs8 = Zeroizing::new(AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).map_err(failed)?.as_ref().to_vec());
        Ok(Self { pair: SigningPair::Rsa(Box::new(pair)), pkcs8 })
    }

    /// Parses a key in PKCS #8 (DER); `None` if it is malformed or of an unsupported type.
    pub fn from_pkcs8(pkcs8: &[u8]) -> Option<Self> {
        for curve in &CURVES {
            let pairs =
                (EcdsaKeyPair::from_pkcs8(curve.fixed, pkcs8), EcdsaKeyPair::from_pkcs8(curve.der, pkcs8));
            if let (Ok(fixed), Ok(der)) = pairs {
                let pair = SigningPair::Ec { curve, fixed: Box::new(fixed), der: Box::new(der) };
                return Some(Self { pair, pkcs8: Zeroizing::new(pkcs8.to_vec()) });
            }
        }
        let pair = RsaKeyPair::from_pkcs8(pkcs8).ok()?;
        Some(Self { pair: SigningPair::Rsa(Box::new(pair)), pkcs8: Zeroizing::new(pkcs8.to_vec()) })
    }

    /// Returns the first usable private key of a PEM text: PKCS #8, SEC 1 (`EC PRIVATE KEY`) or PKCS #1 (`RSA PRIVATE
    /// KEY`), not encrypted; `None` if there is none.
    pub fn from_pem(text: &[u8]) -> Option<Self> {
        let keys = pem::blocks(text).flatten().filter(|block| block.label.ends_with("PRIVATE KEY"));
        let mut keys = keys.filter_map(|block| Some((block.label, block.secret().ok()?)));
        keys.find_map(|(label, bytes)| match label {
            "PRIVATE KEY" => Self::from_pkcs8(&bytes),
            "EC PRIVATE KEY" => CURVES.iter().find_map(|curve| {
                let pair = EcdsaKeyPair::from_private_key_der(curve.fixed, &bytes).ok()?;
                Self::from_pkcs8(pair.to_pkcs8v1().ok()?.as_ref())
            }),
            "RSA PRIVATE KEY" => {
                let pair = RsaKeyPair::from_der(&bytes).ok()?;
                let pkcs8 = AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).ok()?;
                let pkcs8 = Zeroizing::new(pkcs8.as_ref().to_vec());
                Some(Self { pair: SigningPair::Rsa(Box::new(pair)), pkcs8 })
            }
            _ => None,
        })
    }

    /// Returns the key in PEM (PKCS #8).
    pub fn to_pem(&self) -> Zeroizing<String> {
        Zeroizing::new(pem::block("PRIVATE KEY", &self.pkcs8))
    }

    /// Returns the key in DER (PKCS #8).
    pub fn pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }

    /// Returns the key for rustls, without the additional copy that the key loader of a rustls provider would make.
    pub(crate) fn in_tls(&self) -> Result<Arc<dyn sign::SigningKey>, rustls::Error> {
        any_supported_type(&PrivatePkcs8KeyDer::from(&self.pkcs8[..]).into())
    }

    /// Returns the name of the algorithm in JSON Web Signatures (RFC 7518 section 3.1).
    pub(crate) fn jwa(&self) -> &'static str {
        match &self.pair {
            SigningPair::Ec { curve, .. } => curve.jwa,
            SigningPair::Rsa(_) => "RS256",
        }
    }

    /// Signs a message in the format of JSON Web Signatures.
    pub(crate) fn sign_jws(&self, message: &[u8]) -> Result<Vec<u8>, AcmeError> {
        match &self.pair {
            SigningPair::Ec { fixed, .. } => sign_ec(fixed, message),
            SigningPair::Rsa(pair) => sign_rsa(pair, message),
        }
    }

    /// Signs a message in the format of X.509.
    pub(crate) fn sign_x509(&self, message: &[u8]) -> Result<Vec<u8>, AcmeError> {
        match &self.pair {
            SigningPair::Ec { der, .. } => sign_ec(der, message),
            SigningPair::Rsa(pair) => sign_rsa(pair, message),
        }
    }

    /// Returns the DER `AlgorithmIdentifier` of the signatures of [`SigningKey::sign_x509`].
    pub(crate) fn signature_algorithm(&self) -> Vec<u8> {
        match &self.pair {
            SigningPair::Ec { curve, .. } => der::sequence(&[&der::value(tag::OID, curve.signature)]),
            SigningPair::Rsa(_) => {
                let name = der::value(tag::OID, oid::SHA256_WITH_RSA);
                der::sequence(&[&name, &der::value(tag::NULL, b"")])
            }
        }
    }

    /// Returns the public key as `SubjectPublicKeyInfo` in DER.
    pub(crate) fn public_key_info(&self) -> Result<Vec<u8>, AcmeError> {
        let encoded = match &self.pair {
            SigningPair::Ec { fixed, .. } => AsDer::<PublicKeyX509Der<'_>>::as_der(fixed.public_key()),
            SigningPair::Rsa(pair) => AsDer::<PublicKeyX509Der<'_>>::as_der(pair.public_key()),
        };
        Ok(encoded.map_err(|_| AcmeError::Cryptography("encoding the public key"))?.as_ref().to_vec())
    }

    /// Returns the numbers that form the public key in a JSON Web Key (RFC 7518 section 6).
    pub(crate) fn public_parts(&self) -> Result<PublicParts, AcmeError> {
        const FAILED: AcmeError = AcmeError::Cryptography("decoding the public key");
        match &self.pair {
            SigningPair::Ec { curve, fixed, .. } => {
                // Uncompressed point (SEC 1 section 2.3.3): the byte 4, then both coordinates.
                let point = fixed.public_key().as_ref().strip_prefix(&[4]).ok_or(FAILED)?;
                let (x, y) = point.split_at(point.len() / 2);
                Ok(PublicParts::Ec { curve: curve.jwk, x: x.to_vec(), y: y.to_vec() })
            }
            SigningPair::Rsa(pair) => {
                // RSAPublicKey (RFC 8017 appendix A.1.1).
                let mut inside = DerReader::new(pair.public_key().as_ref()).inside(tag::SEQUENCE);
                let mut number = || {
                    let number = inside.as_mut().map_err(|_| FAILED)?.expect(tag::INTEGER);
                    let number = number.map_err(|_| FAILED)?.content;
                    Ok::<_, AcmeError>(number.strip_prefix(&[0]).unwrap_or(number).to_vec())
                };
                Ok(PublicParts::Rsa { modulus: number()?, exponent: number()? })
            }
        }
    }
}

fn sign_ec(pair: &EcdsaKeyPair, message: &[u8]) -> Result<Vec<u8>, AcmeError> {
    let signature = pair.sign(&SystemRandom::new(), message);
    signature.map(|signature| signature.as_ref().to_vec()).map_err(|_| AcmeError::Cryptography("signing"))
}

fn sign_rsa(pair: &RsaKeyPair, message: &[u8]) -> Result<Vec<u8>, AcmeError> {
    let mut signature = vec![0; pair.public_modulus_len()];
    pair.sign(&signature::RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature)
        .map_err(|_| AcmeError::Cryptography("signing"))?;
    Ok(signature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acme_client::memory_scan::SecretScanner;

    #[test]
    fn nothing_of_a_key_is_left_in_memory_when_it_is_dropped() {
        for (name, middle) in [("ecdsa:256", 40..64), ("rsa:2048", 400..440)] {
            let key = SigningKey::generate(AcmeKeyKind::parse(name).expect("a kind")).expect("a key");
            let text = key.to_pem();
            let sought =
                [SecretScanner::new(&key.pkcs8()[middle]), SecretScanner::new(&text.as_bytes()[100..150])];
            let again = SigningKey::from_pem(text.as_bytes()).expect("the same key");
            assert!(sought.iter().all(|sought| sought.count() > 0), "{name}: it is found while it is there");
            drop((key, text));
            assert_eq!(sought[1].count(), 0, "{name}: text");
            again.sign_jws(b"message").expect("a signature");
            again.in_tls().expect("a key of rustls");
            drop(again);
            assert_eq!(sought[0].count(), 0, "{name}: bytes");
        }
    }

    #[test]
    fn every_kind_is_made_written_and_read_again() {
        for name in ["ecdsa:256", "ecdsa:384", "ecdsa:521", "rsa:2048"] {
            let kind = AcmeKeyKind::parse(name).expect(name);
            assert_eq!(kind.name(), name);
            let key = SigningKey::generate(kind).expect(name);
            let again = SigningKey::from_pem(key.to_pem().as_bytes()).expect(name);
            assert_eq!(again.pkcs8(), key.pkcs8());
            assert_eq!(again.jwa(), key.jwa());
            assert!(again.sign_jws(b"x").is_ok() && again.sign_x509(b"x").is_ok());
        }
    }

    #[test]
    fn text_without_a_key_is_none() {
        assert!(SigningKey::from_pem(b"nothing").is_none());
        assert!(SigningKey::from_pem(pem::block("PRIVATE KEY", b"no key").as_bytes()).is_none());
    }

    #[test]
    fn debug_output_hides_private_key() {
        let key = SigningKey::generate(AcmeKeyKind::P256).expect("key");
        assert_eq!(format!("{key:?}"), "SigningKey { algorithm: \"ES256\", .. }");
    }
}
