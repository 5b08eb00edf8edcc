//! Extensions of X.509 version 3 certificates (RFC 5280 section 4.2).

use crate::x509::der::{DerReader, MalformedDer, tag};

/// Prefix of the OIDs of certificate extensions (`id-ce`): 2.5.29.
const ID_CE: [u8; 2] = [0x55, 0x1d];
/// Prefix of the OIDs of key purposes (`id-kp`): 1.3.6.1.5.5.7.3.
const ID_KP: [u8; 7] = [0x2b, 6, 1, 5, 5, 7, 3];
const SERVER_AUTH: u8 = 1;
const CLIENT_AUTH: u8 = 2;
const OCSP_SIGNING: u8 = 9;
/// OID of the authority information access extension: 1.3.6.1.5.5.7.1.1.
const AUTHORITY_INFORMATION: [u8; 8] = [0x2b, 6, 1, 5, 5, 7, 1, 1];

const SUBJECT_ALT_NAME: u8 = 17;
const KEY_USAGE: u8 = 15;
const BASIC_CONSTRAINTS: u8 = 19;
const NAME_CONSTRAINTS: u8 = 30;
const CERTIFICATE_POLICIES: u8 = 32;
const AUTHORITY_KEY_ID: u8 = 35;
const EXTENDED_KEY_USAGE: u8 = 37;

/// Maximum number of extensions of a certificate, a revocation list or a list entry, to bound the parsing time. Issued
/// certificates have about a dozen.
const MOST: usize = 64;

/// Key usage of a certificate: the first byte of its bit string. The highest bit is bit 0 in RFC 5280
/// (`digitalSignature`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyUsage(pub(crate) u8);

impl KeyUsage {
    pub(crate) const DIGITAL_SIGNATURE: u8 = 0x80;
    pub(crate) const KEY_ENCIPHERMENT: u8 = 0x20;
    pub(crate) const KEY_AGREEMENT: u8 = 0x08;
    pub(crate) const KEY_CERT_SIGN: u8 = 0x04;
    pub(crate) const CRL_SIGN: u8 = 0x02;

    /// Returns true if at least one of the usages in `any_of` is set.
    pub(crate) fn has(self, any_of: u8) -> bool {
        self.0 & any_of != 0
    }
}

/// Basic constraints of a certificate: true if it is that of a CA, and the limit of subordinate CAs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BasicConstraints {
    pub(crate) is_authority: bool,
    /// Maximum number of intermediate CAs below this one in a path, without self-issued ones; `None` for no limit.
    pub(crate) path_length: Option<u32>,
}

/// Purposes that the extended key usage of a certificate allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Purposes {
    pub(crate) server: bool,
    pub(crate) client: bool,
    /// True if the key may sign OCSP responses for the issuer (RFC 6960 section 4.2.2.2).
    pub(crate) ocsp: bool,
}

/// Extensions of a certificate that this crate uses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extensions<'a> {
    pub(crate) basic_constraints: Option<BasicConstraints>,
    pub(crate) key_usage: Option<KeyUsage>,
    pub(crate) purposes: Option<Purposes>,
    /// Reader of the `GeneralName` values of the subject alternative name; `None` without this extension.
    pub(crate) alternative_names: Option<DerReader<'a>>,
    /// Reader of the permitted and excluded subtrees of the name constraints; `None` without this extension.
    pub(crate) name_constraints: Option<DerReader<'a>>,
    /// Authority information access; `None` without this extension. Parsed when it is used, because the validation does
    /// not depend on it.
    pub(crate) authority_information: Option<DerReader<'a>>,
    /// Authority key identifier; `None` without this extension. Parsed when it is used, because the validation does not
    /// depend on it.
    pub(crate) authority_key: Option<DerReader<'a>>,
    /// True if there is a critical extension that is not supported.
    pub(crate) has_unknown_critical: bool,
}

/// Parses a list of extensions and calls `visit` with the identifier, the critical flag and the value of each. Fails
/// for duplicates and for more than [`MOST`] extensions.
pub(crate) fn each<'a>(
    list: &mut DerReader<'a>,
    mut visit: impl FnMut(&'a [u8], bool, DerReader<'a>) -> Result<(), MalformedDer>,
) -> Result<(), MalformedDer> {
    let mut extensions = list.inside(tag::SEQUENCE)?;
    let mut seen: Vec<&[u8]> = Vec::new();
    while !extensions.is_empty() {
        let mut extension = extensions.inside(tag::SEQUENCE)?;
        let id = extension.expect(tag::OID)?.content;
        let critical = extension.flag()?;
        let value = extension.expect(tag::OCTET_STRING)?.values();
        extension.end()?;
        // Duplicates are an error (RFC 5280 section 4.2), because two parsers could use different ones.
        if seen.len() == MOST || seen.contains(&id) {
            return Err(MalformedDer);
        }
        seen.push(id);
        visit(id, critical, value)?;
    }
    Ok(())
}

impl<'a> Extensions<'a> {
    /// Reads the extensions in `list`. Fails if an extension on which the validation depends is malformed, if one
    /// occurs twice, or if there are more than 64.
    pub(crate) fn read(mut list: DerReader<'a>) -> Result<Self, MalformedDer> {
        let mut all = Self::default();
        each(&mut list, |id, critical, value| all.take(id, critical, value))?;
        list.end()?;
        Ok(all)
    }

    fn take(&mut self, id: &[u8], critical: bool, mut value: DerReader<'a>) -> Result<(), MalformedDer> {
        let number = match id {
            [a, b, number] if [*a, *b] == ID_CE => *number,
            _ => 0,
        };
        match number {
            BASIC_CONSTRAINTS => {
                let mut fields = value.inside(tag::SEQUENCE)?;
                let is_authority = fields.flag()?;
                let path_length = fields.optional(tag::INTEGER)?.map(|length| length.small()).transpose()?;
                fields.end()?;
                self.basic_constraints = Some(BasicConstraints { is_authority, path_length });
            }
            KEY_USAGE => match value.expect(tag::BIT_STRING)?.content {
                [0..=7] => self.key_usage = Some(KeyUsage(0)),
                [0..=7, bits, ..] => self.key_usage = Some(KeyUsage(*bits)),
                _ => return Err(MalformedDer),
            },
            EXTENDED_KEY_USAGE => {
                let mut list = value.inside(tag::SEQUENCE)?;
                let mut purposes = Purposes::default();
                while !list.is_empty() {
                    if let [prefix @ .., purpose] = list.expect(tag::OID)?.content
                        && *prefix == ID_KP
                    {
                        purposes.server |= *purpose == SERVER_AUTH;
                        purposes.client |= *purpose == CLIENT_AUTH;
                        purposes.ocsp |= *purpose == OCSP_SIGNING;
                    }
                }
                self.purposes = Some(purposes);
            }
            SUBJECT_ALT_NAME => self.alternative_names = Some(value.inside(tag::SEQUENCE)?),
            NAME_CONSTRAINTS => self.name_constraints = Some(value.inside(tag::SEQUENCE)?),
            CERTIFICATE_POLICIES => return Ok(()),
            _ => {
                if *id == AUTHORITY_INFORMATION {
                    self.authority_information = Some(value);
                } else if number == AUTHORITY_KEY_ID {
                    self.authority_key = Some(value);
                }
                self.has_unknown_critical |= critical;
                return Ok(());
            }
        }
        value.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_counted() {
        let listed = |count: u8| {
            let all: Vec<u8> =
                (0..count).flat_map(|id| [0x30, 5, tag::OID, 1, id, tag::OCTET_STRING, 0]).collect();
            let mut list = vec![tag::SEQUENCE, 0x82, (all.len() >> 8) as u8, all.len() as u8];
            list.extend(all);
            Extensions::read(DerReader::new(&list)).is_ok()
        };
        assert!(listed(64));
        assert!(!listed(65));
    }
}
