//! Matching of certificates with host names and addresses (RFC 6125 section 6.4, as in OpenSSL).

use std::net::IpAddr;

use crate::x509::certificate::Certificate;
use crate::x509::der::{DerReader, tag};

/// Tag of a DNS name in a `GeneralName` (RFC 5280 section 4.2.1.6).
pub(crate) const DNS_NAME: u8 = tag::implicit(2);
pub(crate) const IP_ADDRESS: u8 = tag::implicit(7);

/// DNS name or IP address for which a certificate is valid (subject alternative name).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateHost<'a> {
    /// DNS name, which may start with `*.`. The bytes are not validated.
    Name(&'a [u8]),
    /// IP address.
    Address(IpAddr),
}

impl<'a> Certificate<'a> {
    /// Returns the hosts in the subject alternative name in order, up to the first malformed value. IP addresses of a
    /// wrong length are skipped.
    pub fn hosts(&self) -> impl Iterator<Item = CertificateHost<'a>> + use<'a> {
        let mut names = self.extensions.alternative_names.unwrap_or(DerReader::new(&[]));
        let values = std::iter::from_fn(move || names.value().ok());
        values.filter_map(|value| match value.tag {
            DNS_NAME => Some(CertificateHost::Name(value.content)),
            IP_ADDRESS => address(value.content).map(CertificateHost::Address),
            _ => None,
        })
    }

    /// Returns true if the certificate is valid for a host name or IP address; an IPv6 address may be in brackets.
    /// Common names of the subject count only if there are no alternative DNS names.
    pub fn is_valid_for(&self, host: &str) -> bool {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let address = host.parse::<IpAddr>().ok();
        let mut has_names = false;
        for known in self.hosts() {
            match known {
                CertificateHost::Name(pattern) => {
                    has_names = true;
                    if std::str::from_utf8(pattern).is_ok_and(|pattern| matches(pattern, host)) {
                        return true;
                    }
                }
                CertificateHost::Address(known) if address == Some(known) => return true,
                CertificateHost::Address(_) => {}
            }
        }
        !has_names && self.subject.common_names().iter().any(|pattern| matches(pattern, host))
    }
}

/// Converts an IP address of 4 or 16 bytes; `None` for other lengths.
fn address(octets: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from)).ok()
}

/// Returns true if a name of a certificate (`pattern`) matches a host name, ignoring case and a final dot of the host
/// name. `*.` matches exactly one label, and not directly below a top-level domain.
fn matches(pattern: &str, host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    match pattern.strip_prefix("*.") {
        None => !host.is_empty() && pattern.eq_ignore_ascii_case(host),
        Some(domain) => {
            let rest = host.split_once('.').filter(|(label, _)| !label.is_empty()).map(|(_, rest)| rest);
            domain.contains('.') && rest.is_some_and(|rest| rest.eq_ignore_ascii_case(domain))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_one_label() {
        for (pattern, host, expected) in [
            ("example.com", "EXAMPLE.com", true),
            ("example.com", "example.com.", true),
            ("*.example.com", "a.example.com", true),
            ("*.example.com", "a.b.example.com", false),
            ("*.example.com", "example.com", false),
            ("*.example.com", ".example.com", false),
            ("*.com", "example.com", false),
            ("f*.example.com", "foo.example.com", false),
            ("*", "example", false),
            ("", "", false),
        ] {
            assert_eq!(matches(pattern, host), expected, "{pattern} {host}");
        }
    }
}
