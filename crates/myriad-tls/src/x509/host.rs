//! Matching of certificates and hosts (RFC 6125 section 6.4, as in OpenSSL).

use std::net::IpAddr;

use crate::x509::certificate::Certificate;
use crate::x509::der::{DerReader, tag};

/// Kinds of `GeneralName` used for hosts (RFC 5280 section 4.2.1.6).
pub(crate) const DNS_NAME: u8 = tag::implicit(2);
pub(crate) const IP_ADDRESS: u8 = tag::implicit(7);

/// Host of a certificate, from its alternative names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateHost<'a> {
    /// Name, which may start with `*.`; its bytes are not validated.
    Name(&'a [u8]),
    /// IP address.
    Address(IpAddr),
}

impl<'a> Certificate<'a> {
    /// Returns the hosts among its alternative names, in their order, up to the first malformed name.
    pub fn hosts(&self) -> impl Iterator<Item = CertificateHost<'a>> + use<'a> {
        let mut names = self.extensions.alternative_names.unwrap_or(DerReader::new(&[]));
        let values = std::iter::from_fn(move || names.value().ok());
        values.filter_map(|value| match value.tag {
            DNS_NAME => Some(CertificateHost::Name(value.content)),
            IP_ADDRESS => address(value.content).map(CertificateHost::Address),
            _ => None,
        })
    }

    /// Returns whether the certificate is valid for the host. If its alternative names contain host names, only those
    /// count, otherwise the common names of its subject.
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

/// Parses an address of four or sixteen bytes.
fn address(octets: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from)).ok()
}

/// Returns whether a pattern matches a host. A star matches one whole label, the first, and never directly below a
/// top-level domain.
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
