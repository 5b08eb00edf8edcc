//! Properties of a certificate that are needed for its renewal and for display.

use crate::x509::{Certificate, CertificateHost, pem};

use crate::acme_client::jws::encode;

/// Maximum number of names read from a certificate.
const MOST_NAMES: usize = 1000;

/// Properties of an X.509 certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateInfo {
    /// DNS names and IP addresses for which the certificate is valid, at most 1000; the common name of the subject if
    /// there are none.
    pub names: Vec<String>,
    /// Common name of the issuer, or else its organization; empty if both are missing.
    pub issuer: String,
    /// Start of the validity, in seconds since the Unix epoch.
    pub not_before_s: u64,
    /// End of the validity, in seconds since the Unix epoch.
    pub not_after_s: u64,
    /// Identifier for renewal information (RFC 9773 section 4.1); `None` if there is no authority key identifier.
    pub renewal_id: Option<String>,
    /// True if issuer and subject are equal.
    pub self_signed: bool,
}

impl CertificateInfo {
    /// Returns the properties of the first certificate in a PEM text; `None` if the text contains no certificate, or
    /// [`CertificateInfo::from_der`] returns `None` for it.
    pub fn from_pem(text: &[u8]) -> Option<Self> {
        Self::from_der(&pem::certificates(text).flatten().next()?)
    }

    /// Returns the properties of a certificate in DER; `None` if it is malformed or its validity begins or ends before
    /// 1970.
    pub fn from_der(bytes: &[u8]) -> Option<Self> {
        let certificate = Certificate::parse(bytes).ok()?;
        let Certificate { issuer, subject, serial, .. } = certificate;
        let mut names: Vec<String> = certificate.hosts().take(MOST_NAMES).map(host_text).collect();
        if names.is_empty() {
            names.extend(subject.common_name().map(|name| printable(&name)));
        }
        let authority = issuer.common_name().or_else(|| issuer.organization());
        let key = certificate.authority_key_id();
        Some(Self {
            names,
            issuer: authority.map(|name| printable(&name)).unwrap_or_default(),
            not_before_s: u64::try_from(certificate.not_before).ok()?,
            not_after_s: u64::try_from(certificate.not_after).ok()?,
            renewal_id: key.map(|key| format!("{}.{}", encode(key), encode(serial))),
            self_signed: issuer == subject,
        })
    }

    /// Returns true if the certificate was issued after another one: its validity begins later, or at the same second and is
    /// longer. A renewal may be valid for a shorter time than the certificate that it replaces.
    pub fn is_newer_than(&self, other: &Self) -> bool {
        (self.not_before_s, self.not_after_s) > (other.not_before_s, other.not_after_s)
    }

    /// Returns true if the certificate is valid for a host name, or for an IP address in text form. `*.` in the
    /// certificate matches one label.
    pub fn is_valid_for(&self, name: &str) -> bool {
        self.names.iter().any(|own| {
            own.eq_ignore_ascii_case(name)
                || own.strip_prefix("*.").is_some_and(|parent| {
                    name.split_once('.').is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(parent))
                })
        })
    }
}

fn host_text(host: CertificateHost<'_>) -> String {
    match host {
        CertificateHost::Name(name) => printable(&String::from_utf8_lossy(name)),
        CertificateHost::Address(address) => address.to_string(),
    }
}

/// Replaces control characters with `?`, so that the text can be printed on a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { '?' } else { character }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acme_client::csr::challenge_certificate;
    use crate::acme_client::key::SigningKey;
    use myriad_conf::model::{AcmeIdentifier, AcmeKeyKind};

    fn sample() -> Vec<u8> {
        let key = SigningKey::generate(AcmeKeyKind::P256).expect("key");
        let address = AcmeIdentifier::Ip("192.0.2.7".parse().expect("address"));
        challenge_certificate(&key, &address, "x.y", 1_795_246_560).expect("certificate")
    }

    #[test]
    fn facts_of_a_certificate_are_read() {
        let facts = CertificateInfo::from_der(&sample()).expect("facts");
        assert_eq!(facts.names, ["192.0.2.7"]);
        assert_eq!(facts.issuer, "ACME challenge");
        assert_eq!(facts.not_after_s, 1_795_246_560 + 7 * 86_400);
        assert!(facts.self_signed && facts.renewal_id.is_none());
    }

    #[test]
    fn certificate_that_was_issued_later_is_newer_also_if_it_expires_earlier() {
        let of = |not_before_s, not_after_s| CertificateInfo {
            not_before_s,
            not_after_s,
            ..CertificateInfo::default()
        };
        let (long, short) = (of(100, 9000), of(200, 800));
        assert!(short.is_newer_than(&long) && !long.is_newer_than(&short));
        assert!(of(100, 9001).is_newer_than(&long) && !long.is_newer_than(&of(100, 9000)));
    }

    #[test]
    fn wildcard_stands_for_one_label() {
        let facts =
            CertificateInfo { names: vec!["*.a.test".into(), "b.test".into()], ..CertificateInfo::default() };
        assert!(facts.is_valid_for("x.A.test") && facts.is_valid_for("B.test"));
        assert!(
            !facts.is_valid_for("a.test")
                && !facts.is_valid_for("x.y.a.test")
                && !facts.is_valid_for("x.b.test")
        );
    }

    #[test]
    fn cut_and_changed_bytes_never_panic() {
        let whole = sample();
        for length in 0..whole.len() {
            assert!(CertificateInfo::from_der(&whole[..length]).is_none(), "{length}");
        }
        for seed in 0..3000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut bytes = whole.clone();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            let _ = CertificateInfo::from_der(&bytes);
        }
    }
}
