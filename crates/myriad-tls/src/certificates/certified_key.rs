//! Parsing of certificates with their private keys, and of revocation lists, from PEM.

use std::fmt;
use std::sync::Arc;

use crate::x509::{RevocationList, pem};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;

use super::key::read_key;

/// Part that makes a certificate with its private key unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairPart {
    Certificate,
    Key,
    /// Certificate and key are readable, but the key does not belong to the certificate.
    Pair,
}

/// Reason why a certificate and its key are unusable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CertifiedError {
    pub part: PairPart,
    /// Message with the reason; empty for [`PairPart::Pair`].
    pub why: String,
}

impl fmt::Display for CertifiedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// Parses a certificate chain and its private key, both in PEM. An encrypted key is decrypted with one of `passwords`;
/// the flag in the result is true if it was encrypted. Fails if a part is unusable, or the key does not match the first
/// certificate. The match is not checked if rustls cannot compare them, as for a version 1 certificate.
pub(crate) fn certified_key(
    certificate: &[u8],
    key: &[u8],
    passwords: &[Vec<u8>],
    provider: &CryptoProvider,
) -> Result<(Arc<CertifiedKey>, bool), CertifiedError> {
    let fail = |part: PairPart| move |why: String| CertifiedError { part, why };
    let chain = certificates(certificate).map_err(fail(PairPart::Certificate))?;
    let key = read_key(key, passwords).map_err(fail(PairPart::Key))?;
    let signing = provider.key_provider.load_private_key(key.der);
    let signing = signing.map_err(|error| fail(PairPart::Key)(error.to_string()))?;
    let identity = CertifiedKey::new(chain, signing);
    match identity.keys_match() {
        Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {}
        Err(rustls::Error::InconsistentKeys(_)) => return Err(fail(PairPart::Pair)(String::new())),
        // Version 1 certificate: rustls cannot compare its key, but clients can verify it.
        Err(error) if error.to_string().contains("UnsupportedCertVersion") => {}
        Err(error) => return Err(fail(PairPart::Certificate)(error.to_string())),
    }
    Ok((Arc::new(identity), key.was_encrypted))
}

/// Decodes all certificates of a PEM text to DER. Fails if there are none, or the PEM text is malformed. The
/// certificates themselves are not parsed.
pub(crate) fn certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let mut all = Vec::new();
    for der in pem::certificates(text) {
        // Removes unused capacity, because thousands of certificates may stay in memory.
        let der = der.map_err(|error| error.to_string())?.into_boxed_slice();
        all.push(CertificateDer::from(der.into_vec()));
    }
    all.shrink_to_fit();
    if all.is_empty() { Err("the file contains no certificate in PEM format".to_owned()) } else { Ok(all) }
}

/// Parses all revocation lists of a PEM text. Fails if there are none, or one of them or the PEM text is malformed.
pub(crate) fn revocation_lists(text: &[u8]) -> Result<Vec<RevocationList>, String> {
    let mut lists = Vec::new();
    for block in pem::blocks(text) {
        let block = block.map_err(|error| error.to_string())?;
        if block.label == "X509 CRL" {
            let list = block.bytes().map_err(|error| error.to_string())?;
            lists.push(
                RevocationList::parse(&list)
                    .map_err(|_| "the file contains an invalid certificate revocation list")?,
            );
        }
    }
    if lists.is_empty() {
        Err("the file contains no certificate revocation list in PEM format".to_owned())
    } else {
        Ok(lists)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestCertificate;
    use rustls::crypto::aws_lc_rs::default_provider;

    #[test]
    fn chain_retains_order_and_key_must_match_first_certificate() {
        let [leaf, above] = [TestCertificate::usual(), TestCertificate::usual()];
        let chain = [&leaf.certificate[..], b"words\n", &above.certificate].concat();
        let certified = |key: &[u8]| certified_key(&chain, key, &[], &default_provider());
        let (pair, was_encrypted) = certified(&leaf.key).unwrap();
        assert!(!was_encrypted && pair.cert.len() == 2);
        assert_eq!(pair.cert[0].as_ref(), crate::testing::der(&leaf.certificate));
        assert_eq!(certified(&above.key).unwrap_err().part, PairPart::Pair);
    }

    #[test]
    fn part_that_is_broken_is_named() {
        let made = TestCertificate::usual();
        let part = |certificate: &[u8], key: &[u8]| {
            certified_key(certificate, key, &[], &default_provider()).map(drop).map_err(|error| error.part)
        };
        assert_eq!(part(&made.both(), &made.both()), Ok(()), "both may be in one file");
        assert_eq!(part(b"", &made.key), Err(PairPart::Certificate));
        assert_eq!(part(&made.certificate, b""), Err(PairPart::Key));
        let no_key = pem::block("PRIVATE KEY", b"no key");
        assert_eq!(part(&made.certificate, no_key.as_bytes()), Err(PairPart::Key));
        let no_certificate = pem::block("CERTIFICATE", b"no certificate");
        assert_eq!(part(no_certificate.as_bytes(), &made.key), Err(PairPart::Certificate));
    }

    #[test]
    fn certificate_of_version_1_is_shown_though_its_key_cannot_be_compared() {
        let old = include_bytes!("../x509/tests/old.pem");
        assert!(certified_key(old, &TestCertificate::usual().key, &[], &default_provider()).is_ok());
    }

    #[test]
    fn first_broken_pem_block_is_reported() {
        let made = TestCertificate::usual();
        let why = |text: &[u8]| certificates(text).unwrap_err();
        assert_eq!(why(&made.certificate[..80]), "a PEM line `-----END` is missing");
        let broken = String::from_utf8(made.both()).unwrap().replacen("\nM", "\n!", 1);
        assert_eq!(why(broken.as_bytes()), "the base64 text is invalid");
        assert_eq!(why(&made.key), "the file contains no certificate in PEM format");
    }

    #[test]
    fn lists_are_read_whatever_stands_between_them() {
        let list = include_bytes!("../x509/tests/middle-list.pem");
        let text = [&list[..], &TestCertificate::usual().certificate, list].concat();
        assert_eq!(revocation_lists(&text).unwrap().len(), 2);
        let why = |text: &str| revocation_lists(text.as_bytes()).unwrap_err();
        assert_eq!(why("words"), "the file contains no certificate revocation list in PEM format");
        assert_eq!(
            why(&pem::block("X509 CRL", b"x")),
            "the file contains an invalid certificate revocation list"
        );
    }
}
