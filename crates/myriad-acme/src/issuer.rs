//! What the configuration says of an authority and of a certificate.

use std::fmt;
use std::net::IpAddr;

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::key::KeyKind;

/// What a certificate is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Identifier {
    /// A host name, in lower case.
    Dns(String),
    /// An address (RFC 8738); few authorities take one.
    Ip(IpAddr),
}

impl Identifier {
    /// Its type in orders.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Dns(_) => "dns",
            Self::Ip(_) => "ip",
        }
    }

    /// The name by which the authority asks for it in a TLS handshake: an address by its reverse name (RFC 8738
    /// section 6).
    pub(crate) fn server_name(&self) -> String {
        match self {
            Self::Dns(name) => name.clone(),
            Self::Ip(IpAddr::V4(address)) => {
                let [a, b, c, d] = address.octets();
                format!("{d}.{c}.{b}.{a}.in-addr.arpa")
            }
            Self::Ip(IpAddr::V6(address)) => {
                let nibbles = address.octets().into_iter().rev().flat_map(|byte| [byte & 15, byte >> 4]);
                let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
                nibbles.flat_map(|nibble| [digit(nibble), '.']).chain("ip6.arpa".chars()).collect()
            }
        }
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(name) => f.write_str(name),
            Self::Ip(address) => write!(f, "{address}"),
        }
    }
}

/// One certificate: `acme_certificate`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CertificateOrder {
    /// Its names; at least one, each once.
    pub identifiers: Vec<Identifier>,
    /// The key that is made for it.
    pub key: KeyKind,
}

impl CertificateOrder {
    /// The file that holds it: its first name, and a digest of all, since two may share the first.
    pub fn file_name(&self) -> String {
        let mut all = String::from(self.key.name());
        for identifier in &self.identifiers {
            all.push(' ');
            all.push_str(&identifier.to_string());
        }
        let digest = digest::digest(&digest::SHA256, all.as_bytes());
        let digest = u64::from_be_bytes(digest.as_ref()[..8].try_into().unwrap_or_default()) >> 24;
        let first = self.identifiers.first().map(ToString::to_string).unwrap_or_default();
        // No more than a file system takes; an IPv6 address holds colons.
        let first: String =
            first.chars().take(100).map(|c| if c.is_ascii_alphanumeric() { c } else { '.' }).collect();
        format!("{}-{digest:010x}.pem", first.trim_start_matches('.'))
    }
}

impl fmt::Display for CertificateOrder {
    /// The names, as a log line lists them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, identifier) in self.identifiers.iter().enumerate() {
            write!(f, "{}{identifier}", if index > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// How names are proved: `challenge`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChallengeKind {
    /// By an answer over plain HTTP on port 80 (RFC 8555 section 8.3).
    #[default]
    Http01,
    /// By a certificate in a handshake on port 443 (RFC 8737).
    TlsAlpn01,
}

impl ChallengeKind {
    /// Its name in authorizations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http01 => "http-01",
            Self::TlsAlpn01 => "tls-alpn-01",
        }
    }

    /// The place where the authority looks, for a message that it found nothing.
    pub(crate) fn looks_at(self) -> &'static str {
        match self {
            Self::Http01 => "it asks by http on port 80: does the name lead there, and does a server listen?",
            Self::TlsAlpn01 => {
                "it asks by TLS on port 443: does the name lead there, and does nothing else end TLS before?"
            }
        }
    }
}

/// The account key: `account_key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountKey {
    /// Made once and kept.
    Made(KeyKind),
    /// Given as a file; its text.
    Given(Vec<u8>),
}

/// An account that the authority's owner keeps elsewhere: `external_account_key`.
#[derive(Clone, PartialEq, Eq)]
pub struct ExternalAccount {
    /// What the account is called there.
    pub kid: String,
    /// The secret shared with it.
    pub key: Vec<u8>,
}

impl fmt::Debug for ExternalAccount {
    /// Nothing of the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalAccount").field("kid", &self.kid).finish_non_exhaustive()
    }
}

/// A shared secret as its owner shows it: base64url, padding and white space at the ends allowed. None for what is not.
pub fn decode_key(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii();
    let end = text.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    URL_SAFE_NO_PAD.decode(&text[..end]).ok().filter(|key| !key.is_empty())
}

/// `acme_issuer`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    /// Its name in the configuration.
    pub name: String,
    /// The directory's URL.
    pub uri: String,
    /// The account's key.
    pub account_key: AccountKey,
    /// How names are proved.
    pub challenge: ChallengeKind,
    /// The people whom the authority may write to, as URLs.
    pub contacts: Vec<String>,
    /// The account elsewhere.
    pub external_account: Option<ExternalAccount>,
    /// The name of the issuer on top of the chain that is preferred.
    pub preferred_chain: Option<String>,
    /// The profile that is asked for, and whether nothing else will do.
    pub profile: Option<(String, bool)>,
    /// Whether requests name the first identifier as their subject.
    pub common_name: bool,
    /// Authorities that the directory's own certificate is checked by, in PEM; the system's where there is none.
    pub roots: Option<Vec<u8>>,
    /// Whether it is checked.
    pub verify: bool,
    /// Whether its terms are accepted.
    pub accepts_terms: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(names: &[&str], key: KeyKind) -> CertificateOrder {
        let identifiers = names.iter().map(|name| Identifier::Dns((*name).to_owned())).collect();
        CertificateOrder { identifiers, key }
    }

    #[test]
    fn files_are_told_apart_by_all_names_and_the_key() {
        let one = order(&["a.test", "b.test"], KeyKind::P256).file_name();
        assert!(one.starts_with("a.test-"), "{one}");
        assert_ne!(one, order(&["a.test"], KeyKind::P256).file_name());
        assert_ne!(one, order(&["a.test", "b.test"], KeyKind::Rsa2048).file_name());
        let address = CertificateOrder {
            identifiers: vec![Identifier::Ip("2001:db8::1".parse().expect("address"))],
            key: KeyKind::P256,
        };
        assert!(
            address.file_name().bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
        );
    }

    #[test]
    fn addresses_are_asked_for_by_their_reverse_names() {
        let name = |address: &str| Identifier::Ip(address.parse().expect("address")).server_name();
        assert_eq!(name("192.0.2.1"), "1.2.0.192.in-addr.arpa");
        assert_eq!(
            name("2001:db8::1"),
            "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"
        );
    }
}
