//! Settings of an ACME issuer and of a certificate order.

use std::fmt;
use std::net::IpAddr;

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use myriad_conf::model::{AcmeChallenge, AcmeIdentifier, AcmeKeyKind};
use zeroize::Zeroizing;

/// Returns the type of an identifier in the ACME protocol: `dns` or `ip`.
pub(crate) fn identifier_type(identifier: &AcmeIdentifier) -> &'static str {
    match identifier {
        AcmeIdentifier::Dns(_) => "dns",
        AcmeIdentifier::Ip(_) => "ip",
    }
}

/// Returns the server name of the validation handshake for an identifier. For an IP address it is the reverse DNS name
/// (RFC 8738 section 6).
pub(crate) fn server_name(identifier: &AcmeIdentifier) -> String {
    match identifier {
        AcmeIdentifier::Dns(name) => name.clone(),
        AcmeIdentifier::Ip(IpAddr::V4(address)) => {
            let [a, b, c, d] = address.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        AcmeIdentifier::Ip(IpAddr::V6(address)) => {
            let nibbles = address.octets().into_iter().rev().flat_map(|byte| [byte & 15, byte >> 4]);
            let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
            nibbles.flat_map(|nibble| [digit(nibble), '.']).chain("ip6.arpa".chars()).collect()
        }
    }
}

/// Names and key type of an automatic certificate (`acme_certificate`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CertificateOrder {
    /// Names (DNS names and IP addresses) of the certificate: at least one, without duplicates.
    pub identifiers: Vec<AcmeIdentifier>,
    /// Type of the private key.
    pub key: AcmeKeyKind,
}

impl CertificateOrder {
    /// Returns the file name for the ordered certificate: the first requested name, a digest of the key type and all
    /// names, because several orders may have the same first name, and `.pem`. The first name is truncated to 100
    /// characters; all except ASCII letters and digits are replaced by dots, and leading dots are removed.
    pub fn file_name(&self) -> String {
        let mut all = String::from(self.key.name());
        for identifier in &self.identifiers {
            all.push(' ');
            all.push_str(&identifier.to_string());
        }
        let digest = digest::digest(&digest::SHA256, all.as_bytes());
        let digest = u64::from_be_bytes(digest.as_ref()[..8].try_into().unwrap_or_default()) >> 24;
        let first = self.identifiers.first().map(ToString::to_string).unwrap_or_default();
        // Limits the length of the file name, and replaces the colons of IPv6 addresses.
        let first: String =
            first.chars().take(100).map(|c| if c.is_ascii_alphanumeric() { c } else { '.' }).collect();
        format!("{}-{digest:010x}.pem", first.trim_start_matches('.'))
    }
}

impl fmt::Display for CertificateOrder {
    /// Writes the names of the ordered certificate, separated by commas.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, identifier) in self.identifiers.iter().enumerate() {
            write!(f, "{}{identifier}", if index > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// Returns an explanation of how the authority validates names, for error messages.
pub(crate) fn checked_location(challenge: AcmeChallenge) -> &'static str {
    match challenge {
        AcmeChallenge::Http01 => {
            "the authority connects by HTTP to port 80: check that the name resolves to this server and that a server \
                 listens on port 80"
        }
        AcmeChallenge::TlsAlpn01 => {
            "the authority connects by TLS to port 443: check that the name resolves to this server and that no other proxy \
                 terminates TLS"
        }
    }
}

/// Source of the ACME account key (`account_key`).
#[derive(Clone, PartialEq, Eq)]
pub enum AccountKey {
    /// Key of this type, generated at first use and then stored.
    Generated(AcmeKeyKind),
    /// Key from a configured file, as PEM text.
    Configured(Zeroizing<Vec<u8>>),
}

impl fmt::Debug for AccountKey {
    /// Formats the source for debugging without the key itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Generated(kind) => f.debug_tuple("Generated").field(kind).finish(),
            Self::Configured(_) => f.debug_tuple("Configured").finish_non_exhaustive(),
        }
    }
}

/// Account that exists at the authority independently of ACME, to which the ACME account is bound
/// (`external_account_key`).
#[derive(Clone, PartialEq, Eq)]
pub struct ExternalAccount {
    /// Identifier of the external account.
    pub kid: String,
    /// Shared secret (HMAC key).
    pub key: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for ExternalAccount {
    /// Formats the external account for debugging without its secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalAccount").field("kid", &self.kid).finish_non_exhaustive()
    }
}

/// Decodes a shared secret in base64url, with optional padding and surrounding white space; `None` if it is malformed
/// or empty.
pub fn decode_key(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let text = text.trim_ascii();
    let end = text.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    URL_SAFE_NO_PAD.decode(&text[..end]).ok().filter(|key| !key.is_empty()).map(Zeroizing::new)
}

/// Settings of a certificate authority (`acme_issuer`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    /// Name of the issuer in the configuration.
    pub name: String,
    /// URL of the authority's directory.
    pub uri: String,
    /// Source of the ACME account key (`account_key`).
    pub account_key: AccountKey,
    /// Challenge type by which names are validated.
    pub challenge: AcmeChallenge,
    /// Contact URLs for the account, such as `mailto:`.
    pub contacts: Vec<String>,
    /// External account to which the ACME account is bound; `None` if there is none.
    pub external_account: Option<ExternalAccount>,
    /// Preferred chain, selected by the name of the issuer of its topmost certificate; `None` for the default chain of
    /// the authority.
    pub preferred_chain: Option<String>,
    /// Requested certificate profile (`profile`); `None` for no profile. The flag is true if the profile is required:
    /// orders then fail if the authority does not support it.
    pub profile: Option<(String, bool)>,
    /// True if certificate signing requests contain the first name as the subject.
    pub common_name: bool,
    /// CA certificates in PEM for the verification of the authority's HTTPS server; `None` for those of the system.
    pub roots: Option<Vec<u8>>,
    /// True if the certificate of the authority's HTTPS server is verified.
    pub verify: bool,
    /// True if the operator accepts the authority's terms of service.
    pub accepts_terms: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(names: &[&str], key: AcmeKeyKind) -> CertificateOrder {
        let identifiers = names.iter().map(|name| AcmeIdentifier::Dns((*name).to_owned())).collect();
        CertificateOrder { identifiers, key }
    }

    #[test]
    fn order_file_names_differ_by_all_domain_names_and_key_kind() {
        let one = order(&["a.test", "b.test"], AcmeKeyKind::P256).file_name();
        assert!(one.starts_with("a.test-"), "{one}");
        assert_ne!(one, order(&["a.test"], AcmeKeyKind::P256).file_name());
        assert_ne!(one, order(&["a.test", "b.test"], AcmeKeyKind::Rsa2048).file_name());
        let address = CertificateOrder {
            identifiers: vec![AcmeIdentifier::Ip("2001:db8::1".parse().expect("address"))],
            key: AcmeKeyKind::P256,
        };
        assert!(
            address.file_name().bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
        );
    }

    #[test]
    fn addresses_are_asked_for_by_their_reverse_names() {
        let name = |address: &str| server_name(&AcmeIdentifier::Ip(address.parse().expect("address")));
        assert_eq!(name("192.0.2.1"), "1.2.0.192.in-addr.arpa");
        assert_eq!(
            name("2001:db8::1"),
            "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"
        );
    }
}
