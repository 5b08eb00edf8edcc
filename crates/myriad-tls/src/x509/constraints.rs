//! Name constraints (RFC 5280 section 4.2.1.10): restrictions of the names that a CA may certify.
//!
//! Supported types are DNS names, IP addresses, e-mail addresses and directory names. A constraint of another type is
//! an error if a subordinate certificate has a name of that type. An excluded directory name is an error for every
//! subordinate certificate with a directory name, because equal directory names can have different encodings.

use crate::x509::certificate::Certificate;
use crate::x509::der::{DerReader, DerValue, MalformedDer, tag};
use crate::x509::error::VerifyError;
use crate::x509::host::{DNS_NAME, IP_ADDRESS};
use crate::x509::name::X509Name;

const RFC822_NAME: u8 = tag::implicit(1);
const DIRECTORY_NAME: u8 = tag::context(4);
const PERMITTED: u8 = tag::context(0);
const EXCLUDED: u8 = tag::context(1);

/// Checks that all names in `below` satisfy the name constraints of `authority`. Fails also if a constraint cannot be
/// evaluated.
pub(crate) fn check(authority: &Certificate<'_>, below: &Certificate<'_>) -> Result<(), VerifyError> {
    let Some(lists) = authority.extensions.name_constraints else { return Ok(()) };
    let Ok((permitted, excluded)) = read(lists) else { return Err(VerifyError::Malformed) };
    for name in names(below) {
        let of_kind = |bases: &[DerValue<'_>]| bases.iter().any(|base| base.tag == name.tag);
        for base in excluded.iter().filter(|base| base.tag == name.tag) {
            if base.tag == DNS_NAME && name.may_stand_for(base.content) {
                return Err(VerifyError::Excluded);
            }
            match is_within(&name, base) {
                Some(false) if base.tag != DIRECTORY_NAME => {}
                Some(true) => return Err(VerifyError::Excluded),
                _ => return Err(VerifyError::ConstraintKind),
            }
        }
        if of_kind(&permitted) {
            let mut within = false;
            for base in permitted.iter().filter(|base| base.tag == name.tag) {
                within |= is_within(&name, base).ok_or(VerifyError::ConstraintKind)?;
            }
            if !within {
                return Err(VerifyError::NotPermitted);
            }
        }
    }
    Ok(())
}

/// Parses name constraints. Returns the permitted and the excluded subtrees.
fn read(mut lists: DerReader<'_>) -> Result<(Vec<DerValue<'_>>, Vec<DerValue<'_>>), MalformedDer> {
    let permitted = lists.optional(PERMITTED)?.map(subtrees).transpose()?.unwrap_or_default();
    let excluded = lists.optional(EXCLUDED)?.map(subtrees).transpose()?.unwrap_or_default();
    lists.end()?;
    Ok((permitted, excluded))
}

/// Returns the base names of a list of subtrees. Fails if a subtree has `minimum` or `maximum`, which RFC 5280 section
/// 4.2.1.10 does not use.
fn subtrees(list: DerValue<'_>) -> Result<Vec<DerValue<'_>>, MalformedDer> {
    let mut list = list.values();
    let mut bases = Vec::new();
    while !list.is_empty() {
        let mut subtree = list.inside(tag::SEQUENCE)?;
        bases.push(subtree.value()?);
        subtree.end()?;
    }
    Ok(bases)
}

/// Returns all names of a certificate that name constraints restrict: its subject, the e-mail addresses in it, and the
/// subject alternative names. If there are no alternative DNS names, common names that look like host names count as
/// DNS names, as in [`Certificate::is_valid_for`].
fn names<'a>(certificate: &Certificate<'a>) -> Vec<ConstrainedName<'a>> {
    let mut all = Vec::new();
    if !certificate.subject.sets().is_empty() {
        all.push(ConstrainedName { tag: DIRECTORY_NAME, what: NameValue::Directory(certificate.subject) });
    }
    // E-mail addresses in the subject are restricted as well (RFC 5280 section 4.2.1.10).
    let addresses = certificate.subject.email_addresses().into_iter();
    all.extend(
        addresses.map(|address| ConstrainedName { tag: RFC822_NAME, what: NameValue::Bytes(address) }),
    );
    let mut alternatives = certificate.extensions.alternative_names.unwrap_or(DerReader::new(&[]));
    let mut has_hosts = false;
    while let Ok(value) = alternatives.value() {
        has_hosts |= value.tag == DNS_NAME;
        let what = match value.tag {
            DIRECTORY_NAME => {
                X509Name::read(&mut value.values()).map_or(NameValue::Bytes(&[]), NameValue::Directory)
            }
            _ => NameValue::Bytes(value.content),
        };
        all.push(ConstrainedName { tag: value.tag, what });
    }
    if !has_hosts {
        let common = certificate.subject.common_names().into_iter().filter(|name| looks_like_host(name));
        all.extend(common.map(|name| ConstrainedName { tag: DNS_NAME, what: NameValue::Host(name) }));
    }
    all
}

fn looks_like_host(name: &str) -> bool {
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'*');
    name.contains('.') && name.bytes().all(is_host)
}

struct ConstrainedName<'a> {
    tag: u8,
    what: NameValue<'a>,
}

impl ConstrainedName<'_> {
    /// Returns true if the name is a wildcard and the DNS name `excluded` is below its domain, so that the wildcard may
    /// cover it.
    fn may_stand_for(&self, excluded: &[u8]) -> bool {
        let name = match &self.what {
            NameValue::Bytes(bytes) => bytes,
            NameValue::Host(name) => name.as_bytes(),
            NameValue::Directory(_) => return false,
        };
        let excluded = excluded.strip_prefix(b".").unwrap_or(excluded);
        name.strip_prefix(b"*").is_some_and(|domain| is_host_within(excluded, domain))
    }
}

enum NameValue<'a> {
    Bytes(&'a [u8]),
    Host(String),
    Directory(X509Name<'a>),
}

/// Returns true if a name is within the subtree of `base`; `None` if this cannot be determined.
fn is_within(name: &ConstrainedName<'_>, base: &DerValue<'_>) -> Option<bool> {
    match (&name.what, base.tag) {
        (NameValue::Bytes(host), DNS_NAME) => Some(is_host_within(host, base.content)),
        (NameValue::Host(host), DNS_NAME) => Some(is_host_within(host.as_bytes(), base.content)),
        (NameValue::Bytes(address), RFC822_NAME) => is_mailbox_within(address, base.content),
        (NameValue::Bytes(address), IP_ADDRESS) => is_address_within(address, base.content),
        (NameValue::Directory(name), DIRECTORY_NAME) => {
            let base = X509Name::read(&mut base.values()).ok()?;
            Some(name.sets().starts_with(&base.sets()))
        }
        _ => None,
    }
}

/// Returns true if `host` equals `base` or is a subdomain of it. If `base` starts with a dot, only subdomains match; an
/// empty `base` matches every host.
fn is_host_within(host: &[u8], base: &[u8]) -> bool {
    let Some(at) = host.len().checked_sub(base.len()) else { return false };
    let same = host[at..].eq_ignore_ascii_case(base);
    let at_label = at == 0 || base.is_empty() || base[0] == b'.' || host[at - 1] == b'.';
    same && at_label && !(at == 0 && base.first() == Some(&b'.'))
}

/// Returns true if an e-mail address matches `base`: a mailbox, a host, or with a leading dot the subdomains of a
/// domain; an empty `base` matches every address. The local part is case-sensitive. `None` for malformed addresses, and
/// for quoted or non-ASCII addresses, which can be written in several ways.
fn is_mailbox_within(address: &[u8], base: &[u8]) -> Option<bool> {
    let split = |text: &[u8]| -> Option<(usize, bool)> {
        let mut signs = text.iter().enumerate().filter(|(_, byte)| **byte == b'@');
        let at = signs.next().map(|(at, _)| at);
        let is_plain = text.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'"');
        (is_plain && signs.next().is_none()).then_some((at.unwrap_or(0), at.is_some()))
    };
    let (at, has_host) = split(address)?;
    if !has_host || at == 0 || at + 1 == address.len() {
        return None;
    }
    let (local, host) = (&address[..at], &address[at + 1..]);
    let (at, is_mailbox) = split(base)?;
    if is_mailbox {
        return Some(*local == base[..at] && host.eq_ignore_ascii_case(&base[at + 1..]));
    }
    let is_domain = base.first() == Some(&b'.');
    Some(if is_domain {
        is_host_within(host, base)
    } else {
        base.is_empty() || host.eq_ignore_ascii_case(base)
    })
}

/// Returns true if an IP address is in the network `base`, which consists of address and mask; `None` if `base` is
/// malformed.
fn is_address_within(address: &[u8], base: &[u8]) -> Option<bool> {
    let (network, mask) = base.split_at_checked(base.len() / 2).filter(|(a, b)| a.len() == b.len())?;
    if address.len() != network.len() {
        return Some(false);
    }
    let masked = address.iter().zip(network).zip(mask);
    Some(masked.fold(true, |same, ((byte, base), mask)| same && byte & mask == base & mask))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_within_at_the_edge_of_a_label() {
        for (host, base, expected) in [
            ("a.example.com", "example.com", true),
            ("example.com", "example.com", true),
            ("badexample.com", "example.com", false),
            ("a.example.com", ".example.com", true),
            ("example.com", ".example.com", false),
            ("A.EXAMPLE.COM", "example.com", true),
            ("com", "example.com", false),
            ("anything", "", true),
        ] {
            assert_eq!(is_host_within(host.as_bytes(), base.as_bytes()), expected, "{host} {base}");
        }
    }

    #[test]
    fn a_wildcard_does_not_reach_round_an_exclusion() {
        let name =
            |text: &'static str| ConstrainedName { tag: DNS_NAME, what: NameValue::Bytes(text.as_bytes()) };
        for (text, excluded, expected) in [
            ("*.in.test", "not.in.test", true),
            ("*.in.test", ".not.in.test", true),
            ("*.in.test", "out.test", false),
            ("*.in.test", "in.test", false),
            ("a.in.test", "not.in.test", false),
        ] {
            assert_eq!(name(text).may_stand_for(excluded.as_bytes()), expected, "{text} {excluded}");
        }
    }

    #[test]
    fn mailboxes_are_within_by_themselves_their_host_or_its_domain() {
        for (address, base, expected) in [
            ("a@in.test", "in.test", Some(true)),
            ("a@IN.test", "in.test", Some(true)),
            ("a@sub.in.test", "in.test", Some(false)),
            ("a@sub.in.test", ".in.test", Some(true)),
            ("a@in.test", ".in.test", Some(false)),
            ("a@badin.test", ".in.test", Some(false)),
            ("a@badin.test", "in.test", Some(false)),
            ("a@in.test", "a@IN.TEST", Some(true)),
            ("A@in.test", "a@in.test", Some(false)),
            ("a@any.test", "", Some(true)),
            ("a@in.test@out.test", "in.test", None),
            ("\"a@in.test\"@out.test", "in.test", None),
            ("in.test", "in.test", None),
            ("@in.test", "in.test", None),
            ("a@", "", None),
            ("b\u{fc}@in.test", "in.test", None),
            ("a@in.test\0.out.test", "in.test", None),
        ] {
            assert_eq!(is_mailbox_within(address.as_bytes(), base.as_bytes()), expected, "{address} {base}");
        }
    }

    #[test]
    fn addresses_are_within_by_their_mask() {
        assert_eq!(is_address_within(&[10, 1, 2, 3], &[10, 0, 0, 0, 255, 0, 0, 0]), Some(true));
        assert_eq!(is_address_within(&[11, 1, 2, 3], &[10, 0, 0, 0, 255, 0, 0, 0]), Some(false));
        assert_eq!(is_address_within(&[0; 16], &[10, 0, 0, 0, 255, 0, 0, 0]), Some(false));
        assert_eq!(is_address_within(&[10, 1, 2, 3], &[10, 0, 0]), None);
    }
}
