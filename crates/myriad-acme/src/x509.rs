//! What a certificate says of itself (RFC 5280), as far as its renewal and people ask.

use std::net::IpAddr;

use crate::der::{Reader, oid, tag};
use crate::jws::encode;
use crate::{pem, time};

/// Names in a certificate that are read; authorities put at most a hundred into one.
const MOST_NAMES: usize = 1000;

/// A certificate's facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificate {
    /// The names it is for: host names and addresses; the subject's common name where it has no others.
    pub names: Vec<String>,
    /// The common name of its issuer, or the organization; empty where it has neither.
    pub issuer: String,
    /// Seconds since the epoch from which it is valid.
    pub not_before_s: u64,
    /// Seconds since the epoch until which it is valid.
    pub not_after_s: u64,
    /// What renewal information is asked for by (RFC 9773 section 4.1); none without an authority key identifier.
    pub renewal_id: Option<String>,
    /// Whether its issuer is its subject.
    pub self_signed: bool,
}

impl Certificate {
    /// The facts of the first certificate in a PEM file.
    pub fn from_pem(text: &[u8]) -> Option<Self> {
        Self::from_der(pem::certificates(text).first()?)
    }

    /// The facts of a certificate in DER; `None` where the bytes are none.
    pub fn from_der(bytes: &[u8]) -> Option<Self> {
        let mut body = Reader::new(bytes).inside(tag::SEQUENCE)?.inside(tag::SEQUENCE)?;
        // The version, which the first one leaves out.
        body.optional(tag::context(0));
        let serial = body.expect(tag::INTEGER)?;
        body.expect(tag::SEQUENCE)?;
        let issuer = body.expect(tag::SEQUENCE)?;
        let mut validity = body.inside(tag::SEQUENCE)?;
        let not_before_s = moment(&mut validity)?;
        let not_after_s = moment(&mut validity)?;
        let subject = body.expect(tag::SEQUENCE)?;
        body.expect(tag::SEQUENCE)?;
        let mut facts = Self {
            issuer: attribute(issuer, oid::COMMON_NAME)
                .or_else(|| attribute(issuer, oid::ORGANIZATION))
                .unwrap_or_default(),
            not_before_s,
            not_after_s,
            self_signed: issuer == subject,
            ..Self::default()
        };
        while let Some((found, content, _)) = body.any() {
            if found == tag::context(3) {
                facts.read_extensions(content, serial);
            }
        }
        if facts.names.is_empty() {
            facts.names.extend(attribute(subject, oid::COMMON_NAME));
        }
        Some(facts)
    }

    fn read_extensions(&mut self, content: &[u8], serial: &[u8]) {
        let Some(mut extensions) = Reader::new(content).inside(tag::SEQUENCE) else { return };
        while let Some(mut extension) = extensions.inside(tag::SEQUENCE) {
            let Some(name) = extension.expect(tag::OID) else { return };
            extension.optional(tag::BOOLEAN);
            let Some(value) = extension.expect(tag::OCTET_STRING) else { return };
            if name == oid::SUBJECT_ALT_NAME {
                self.names = alternative_names(value);
            } else if name == oid::AUTHORITY_KEY_ID {
                let key = Reader::new(value)
                    .inside(tag::SEQUENCE)
                    .and_then(|mut fields| fields.optional(tag::context_plain(0)));
                self.renewal_id = key.map(|key| format!("{}.{}", encode(key), encode(serial)));
            }
        }
    }

    /// Whether it is for this name; `*.` in it stands for one label.
    pub fn is_for(&self, name: &str) -> bool {
        self.names.iter().any(|own| {
            own.eq_ignore_ascii_case(name)
                || own.strip_prefix("*.").is_some_and(|parent| {
                    name.split_once('.').is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(parent))
                })
        })
    }
}

fn moment(validity: &mut Reader<'_>) -> Option<u64> {
    let (found, content, _) = validity.any()?;
    match found {
        tag::UTC_TIME => time::from_x509(content, false),
        tag::GENERALIZED_TIME => time::from_x509(content, true),
        _ => None,
    }
}

/// The first value of a kind in a `Name`.
fn attribute(name: &[u8], wanted: &[u8]) -> Option<String> {
    let mut sets = Reader::new(name);
    while let Some(mut set) = sets.inside(tag::SET) {
        while let Some(mut attribute) = set.inside(tag::SEQUENCE) {
            let Some(kind) = attribute.expect(tag::OID) else { continue };
            let Some((found, content, _)) = attribute.any() else { continue };
            let is_text = matches!(
                found,
                tag::UTF8_STRING | tag::PRINTABLE_STRING | tag::TELETEX_STRING | tag::IA5_STRING
            );
            if kind == wanted && is_text {
                return Some(printable(content));
            }
        }
    }
    None
}

fn alternative_names(value: &[u8]) -> Vec<String> {
    let Some(mut names) = Reader::new(value).inside(tag::SEQUENCE) else { return Vec::new() };
    let mut found = Vec::new();
    while let Some((kind, content, _)) = names.any() {
        if found.len() >= MOST_NAMES {
            break;
        }
        if kind == tag::context_plain(2) {
            found.push(printable(content));
        } else if kind == tag::context_plain(7) {
            let address = <[u8; 4]>::try_from(content)
                .map(IpAddr::from)
                .or_else(|_| <[u8; 16]>::try_from(content).map(IpAddr::from));
            found.extend(address.map(|address| address.to_string()));
        }
    }
    found
}

/// Text that may be shown on a terminal.
fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().map(|character| if character.is_control() { '?' } else { character }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csr::challenge_certificate;
    use crate::issuer::Identifier;
    use crate::key::{KeyKind, SigningKey};

    fn sample() -> Vec<u8> {
        let key = SigningKey::generate(KeyKind::P256).expect("key");
        let address = Identifier::Ip("192.0.2.7".parse().expect("address"));
        challenge_certificate(&key, &address, "x.y", 1_795_246_560).expect("certificate")
    }

    #[test]
    fn facts_of_a_certificate_are_read() {
        let facts = Certificate::from_der(&sample()).expect("facts");
        assert_eq!(facts.names, ["192.0.2.7"]);
        assert_eq!(facts.issuer, "ACME challenge");
        assert_eq!(facts.not_after_s, 1_795_246_560 + 7 * 86_400);
        assert!(facts.self_signed && facts.renewal_id.is_none());
    }

    #[test]
    fn wildcard_stands_for_one_label() {
        let facts = Certificate { names: vec!["*.a.test".into(), "b.test".into()], ..Certificate::default() };
        assert!(facts.is_for("x.A.test") && facts.is_for("B.test"));
        assert!(!facts.is_for("a.test") && !facts.is_for("x.y.a.test") && !facts.is_for("x.b.test"));
    }

    #[test]
    fn cut_and_changed_bytes_never_panic() {
        let whole = sample();
        for length in 0..whole.len() {
            assert!(Certificate::from_der(&whole[..length]).is_none(), "{length}");
        }
        for seed in 0..3000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut bytes = whole.clone();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            let _ = Certificate::from_der(&bytes);
        }
    }
}
