//! Certificates with their keys, from PEM.

use std::fmt;
use std::sync::Arc;

use myriad_x509::RevocationList;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer};
use rustls::sign::CertifiedKey;

use super::key;

/// What of a pair cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Certificate,
    Key,
    /// Both can be read, and do not belong together.
    Pair,
}

/// Why a pair cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CertifiedError {
    pub part: Part,
    pub why: String,
}

impl fmt::Display for CertifiedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// A certificate with its chain and key, and whether the key was encrypted.
pub(crate) fn certified(
    certificate: &[u8],
    key: &[u8],
    passwords: &[Vec<u8>],
    provider: &CryptoProvider,
) -> Result<(Arc<CertifiedKey>, bool), CertifiedError> {
    let fail = |part: Part| move |why: String| CertifiedError { part, why };
    let chain = certificates(certificate).map_err(fail(Part::Certificate))?;
    let key = key::read(key, passwords).map_err(fail(Part::Key))?;
    let signing = provider.key_provider.load_private_key(key.der);
    let signing = signing.map_err(|error| fail(Part::Key)(error.to_string()))?;
    let identity = CertifiedKey::new(chain, signing);
    match identity.keys_match() {
        Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {}
        Err(rustls::Error::InconsistentKeys(_)) => return Err(fail(Part::Pair)(String::new())),
        // A certificate of version 1: clients judge it, and the key cannot be compared by rustls.
        Err(error) if error.to_string().contains("UnsupportedCertVersion") => {}
        Err(error) => return Err(fail(Part::Certificate)(error.to_string())),
    }
    Ok((Arc::new(identity), key.was_encrypted))
}

/// The certificates of a file; there must be one.
///
/// OpenSSL's `TRUSTED CERTIFICATE` is a certificate with notes of its owner's behind it, which nobody else is shown.
pub(crate) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = String::from_utf8_lossy(pem);
    let usual = ["TRUSTED CERTIFICATE-----", "X509 CERTIFICATE-----"]
        .iter()
        .fold(text.into_owned(), |text, label| text.replace(label, "CERTIFICATE-----"));
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(usual.as_bytes()).collect();
    match all {
        Ok(all) if all.is_empty() => Err("it holds no certificate in PEM".to_owned()),
        Ok(all) => Ok(all.into_iter().map(without_notes).collect()),
        Err(error) => Err(key::why(&error).unwrap_or_else(|| error.to_string())),
    }
}

/// The first value of DER, and nothing behind it.
fn without_notes(certificate: CertificateDer<'static>) -> CertificateDer<'static> {
    let length = match certificate.as_ref() {
        [0x30, short @ 0..=0x7f, ..] => 2 + usize::from(*short),
        [0x30, 0x81, length, ..] => 3 + usize::from(*length),
        [0x30, 0x82, high, low, ..] => 4 + usize::from(u16::from_be_bytes([*high, *low])),
        _ => certificate.len(),
    };
    if length < certificate.len() {
        CertificateDer::from(certificate[..length].to_vec())
    } else {
        certificate
    }
}

/// The revocation lists of a file; there must be one.
pub(crate) fn revocation_lists(pem: &[u8]) -> Result<Vec<RevocationList>, String> {
    let mut lists = Vec::new();
    for list in CertificateRevocationListDer::pem_slice_iter(pem) {
        let list = list.map_err(|error| error.to_string())?;
        lists.push(RevocationList::parse(&list).map_err(|_| "it is no revocation list in DER")?);
    }
    if lists.is_empty() { Err("it holds no revocation list in PEM".to_owned()) } else { Ok(lists) }
}
