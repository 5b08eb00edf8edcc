//! Distinguished names (RFC 5280 section 4.1.2.4) and their two text forms in nginx.

use std::fmt::Write;

use crate::x509::der::{DerReader, DerValue, MalformedDer, tag};

/// Distinguished name. Two names are equal if their DER encodings are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct X509Name<'a> {
    /// Complete encoding in DER.
    der: &'a [u8],
}

/// Prefix of the OIDs of X.520 attribute types (2.5.4); one more number selects the type.
const X520: [u8; 2] = [0x55, 0x04];
const COMMON_NAME: u8 = 3;
const ORGANIZATION: u8 = 10;
const X520_NAMES: [(u8, &str); 19] = [
    (COMMON_NAME, "CN"),
    (4, "SN"),
    (5, "serialNumber"),
    (6, "C"),
    (7, "L"),
    (8, "ST"),
    (9, "street"),
    (ORGANIZATION, "O"),
    (11, "OU"),
    (12, "title"),
    (13, "description"),
    (15, "businessCategory"),
    (17, "postalCode"),
    (41, "name"),
    (42, "GN"),
    (43, "initials"),
    (44, "generationQualifier"),
    (46, "dnQualifier"),
    (65, "pseudonym"),
];
/// OID of the attribute type `emailAddress`: 1.2.840.113549.1.9.1.
const EMAIL: [u8; 9] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1];
/// Prefix of the OIDs of the attribute types `UID` and `DC` (RFC 4519): 0.9.2342.19200300.100.1.
const PILOT: [u8; 9] = [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1];
/// Prefix of the OIDs of attribute types for the place where a company is registered: 1.3.6.1.4.1.311.60.2.1.
const JURISDICTION: [u8; 10] = [0x2b, 6, 1, 4, 1, 0x82, 0x37, 60, 2, 1];

/// Attribute of a distinguished name, such as `CN`. `id` is the OID of its type.
struct Attribute<'a> {
    id: &'a [u8],
    value: DerValue<'a>,
}

impl<'a> X509Name<'a> {
    /// Reads a name. Fails if it is not a sequence of sets of attributes.
    pub(crate) fn read(reader: &mut DerReader<'a>) -> Result<Self, MalformedDer> {
        let value = reader.expect(tag::SEQUENCE)?;
        let name = Self { der: value.whole };
        name.attributes().map(|_| name)
    }

    /// Returns the complete encoding in DER.
    pub fn der(&self) -> &'a [u8] {
        self.der
    }

    /// Returns the attributes in order, grouped by the sets (multi-valued parts) of the name; `Err` if the name is
    /// malformed.
    fn attributes(&self) -> Result<Vec<Vec<Attribute<'a>>>, MalformedDer> {
        let mut sets = DerReader::new(self.der).inside(tag::SEQUENCE)?;
        let mut all = Vec::new();
        while !sets.is_empty() {
            let mut set = sets.inside(tag::SET)?;
            let mut attributes = Vec::new();
            while !set.is_empty() {
                let mut pair = set.inside(tag::SEQUENCE)?;
                let attribute = Attribute { id: pair.expect(tag::OID)?.content, value: pair.value()? };
                pair.end()?;
                attributes.push(attribute);
            }
            all.push(attributes);
        }
        Ok(all)
    }

    /// Returns the DER encodings of the sets of attributes in the name, in order, up to the first malformed one.
    pub(crate) fn sets(&self) -> Vec<&'a [u8]> {
        let Ok(mut sets) = DerReader::new(self.der).inside(tag::SEQUENCE) else { return Vec::new() };
        let mut all = Vec::new();
        while let Ok(set) = sets.value() {
            all.push(set.whole);
        }
        all
    }

    /// Returns the common names in reverse order, so that the most specific is the first; none if the name is
    /// malformed.
    pub(crate) fn common_names(&self) -> Vec<String> {
        let mut names = self.texts(COMMON_NAME);
        names.reverse();
        names
    }

    /// Returns the first common name that is text; `None` if there is none.
    pub fn common_name(&self) -> Option<String> {
        self.texts(COMMON_NAME).into_iter().next()
    }

    /// Returns the first organization that is text; `None` if there is none.
    pub fn organization(&self) -> Option<String> {
        self.texts(ORGANIZATION).into_iter().next()
    }

    /// Returns the values of the X.520 attribute type 2.5.4.`number` in order; values that are not text are omitted.
    fn texts(&self, number: u8) -> Vec<String> {
        let attributes = self.attributes().unwrap_or_default();
        let named =
            attributes.iter().flatten().filter(|attribute| *attribute.id == [X520[0], X520[1], number]);
        named.filter_map(|attribute| text(&attribute.value)).collect()
    }

    /// Returns the e-mail addresses as bytes; none if the name is malformed.
    pub fn email_addresses(&self) -> Vec<&'a [u8]> {
        let attributes = self.attributes().unwrap_or_default();
        let addresses = attributes.iter().flatten().filter(|attribute| *attribute.id == EMAIL);
        addresses.map(|attribute| attribute.value.content).collect()
    }

    /// Formats the name as RFC 2253 does, last attribute first: `CN=client,O=Example` (`$ssl_client_s_dn`). Returns an
    /// empty text if the name is malformed.
    pub fn rfc2253(&self) -> String {
        let mut out = String::new();
        for set in self.attributes().unwrap_or_default().iter().rev() {
            for (index, attribute) in set.iter().enumerate() {
                if index > 0 {
                    out.push('+');
                } else if !out.is_empty() {
                    out.push(',');
                }
                write_escaped(attribute, &mut out);
            }
        }
        out
    }

    /// Formats the name as old nginx versions do: `/O=Example/CN=client` (`$ssl_client_s_dn_legacy`). Returns an empty
    /// text if the name is malformed.
    pub fn legacy(&self) -> String {
        let mut out = String::new();
        for attribute in self.attributes().unwrap_or_default().iter().flatten() {
            out.push('/');
            out.push_str(&type_text(attribute.id));
            out.push('=');
            for byte in attribute.value.content {
                match byte {
                    b' '..=b'~' => out.push(char::from(*byte)),
                    byte => {
                        let _ = write!(out, "\\x{byte:02X}");
                    }
                }
            }
        }
        out
    }
}

fn known_type(id: &[u8]) -> Option<&'static str> {
    let (last, prefix) = id.split_last()?;
    if *prefix == X520 {
        return X520_NAMES.iter().find(|(number, _)| number == last).map(|(_, name)| *name);
    }
    match (prefix, *last) {
        _ if *id == EMAIL => Some("emailAddress"),
        (prefix, 1) if *prefix == PILOT => Some("UID"),
        (prefix, 25) if *prefix == PILOT => Some("DC"),
        (prefix, 1) if *prefix == JURISDICTION => Some("jurisdictionL"),
        (prefix, 2) if *prefix == JURISDICTION => Some("jurisdictionST"),
        (prefix, 3) if *prefix == JURISDICTION => Some("jurisdictionC"),
        _ => None,
    }
}

/// Returns the short name of an attribute type; its dotted OID if it is unknown.
fn type_text(id: &[u8]) -> String {
    if let Some(name) = known_type(id) {
        return name.to_owned();
    }
    let mut numbers: Vec<u64> = Vec::new();
    let mut number = 0u64;
    for byte in id {
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            if numbers.is_empty() {
                let first = (number / 40).min(2);
                numbers.push(first);
                numbers.push(number - first * 40);
            } else {
                numbers.push(number);
            }
            number = 0;
        }
    }
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
}

/// Converts a string value to text; `None` for values of other types or with invalid characters.
fn text(value: &DerValue<'_>) -> Option<String> {
    let bytes = value.content;
    match value.tag {
        tag::UTF8_STRING => std::str::from_utf8(bytes).ok().map(str::to_owned),
        tag::PRINTABLE_STRING | tag::IA5_STRING | tag::T61_STRING => {
            Some(bytes.iter().map(|byte| char::from(*byte)).collect())
        }
        tag::BMP_STRING if bytes.len().is_multiple_of(2) => {
            let units: Vec<u16> =
                bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_be_bytes(*pair)).collect();
            String::from_utf16(&units).ok()
        }
        tag::UNIVERSAL_STRING if bytes.len().is_multiple_of(4) => {
            let points = bytes.as_chunks::<4>().0.iter().map(|four| u32::from_be_bytes(*four));
            points.map(char::from_u32).collect()
        }
        _ => None,
    }
}

/// Appends an attribute as in RFC 2253 section 2.4. Control characters and non-ASCII characters are written as escaped
/// UTF-8 bytes; a value that is not text, or has an unknown type, as its encoding in hexadecimal.
fn write_escaped(attribute: &Attribute<'_>, out: &mut String) {
    out.push_str(&type_text(attribute.id));
    out.push('=');
    let shown = text(&attribute.value).filter(|_| known_type(attribute.id).is_some());
    let Some(shown) = shown else {
        out.push('#');
        for byte in attribute.value.whole {
            let _ = write!(out, "{byte:02X}");
        }
        return;
    };
    let last = shown.len().saturating_sub(1);
    for (at, byte) in shown.bytes().enumerate() {
        let at_edge = (at == 0 && matches!(byte, b' ' | b'#')) || (at == last && byte == b' ');
        match byte {
            b',' | b'+' | b'"' | b'\\' | b'<' | b'>' | b';' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..=b'~' if at_edge => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..=b'~' => out.push(char::from(byte)),
            byte => {
                let _ = write!(out, "\\{byte:02X}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(id: &[u8], tag: u8, value: &[u8]) -> Vec<u8> {
        let wrap = |tag: u8, content: Vec<u8>| [vec![tag, content.len() as u8], content].concat();
        let pair = [wrap(tag::OID, id.to_vec()), wrap(tag, value.to_vec())].concat();
        wrap(tag::SET, wrap(tag::SEQUENCE, pair))
    }

    fn shown(sets: &[Vec<u8>]) -> (String, String, Vec<String>) {
        let content = sets.concat();
        let der = [vec![tag::SEQUENCE, content.len() as u8], content].concat();
        let name = X509Name::read(&mut DerReader::new(&der)).unwrap();
        (name.rfc2253(), name.legacy(), name.common_names())
    }

    #[test]
    fn names_are_shown_as_openssl_shows_them() {
        let (new, old, common) = shown(&[
            set(&[0x55, 4, 10], tag::UTF8_STRING, "A, B+\u{e9}".as_bytes()),
            set(&[0x55, 4, 3], tag::PRINTABLE_STRING, b" x "),
        ]);
        assert_eq!(new, "CN=\\ x\\ ,O=A\\, B\\+\\C3\\A9");
        assert_eq!(old, "/O=A, B+\\xC3\\xA9/CN= x ");
        assert_eq!(common, [" x "]);
        let (new, old, _) = shown(&[set(&[0x2a, 3, 0x81, 1], tag::UTF8_STRING, b"v")]);
        assert_eq!((new.as_str(), old.as_str()), ("1.2.3.129=#0C0176", "/1.2.3.129=v"));
        let (new, ..) =
            shown(&[set(&EMAIL, tag::IA5_STRING, b"a@b"), set(&[0x55, 4, 3], tag::BMP_STRING, b"\0h\0i")]);
        assert_eq!(new, "CN=hi,emailAddress=a@b");
    }

    #[test]
    fn of_several_common_names_the_first_is_shown_and_the_last_is_the_hosts() {
        let sets = [
            set(&[0x55, 4, 10], tag::BMP_STRING, b"x"),
            set(&[0x55, 4, 10], tag::UTF8_STRING, b"authority"),
            set(&[0x55, 4, 3], tag::UTF8_STRING, b"one"),
            set(&[0x55, 4, 3], tag::T61_STRING, b"tw\xf6"),
        ]
        .concat();
        let der = [vec![tag::SEQUENCE, sets.len() as u8], sets].concat();
        let name = X509Name::read(&mut DerReader::new(&der)).unwrap();
        assert_eq!(name.common_name().as_deref(), Some("one"));
        assert_eq!(name.common_names(), ["tw\u{f6}", "one"]);
        assert_eq!(name.organization().as_deref(), Some("authority"), "half a character is no text");
        let empty = X509Name::read(&mut DerReader::new(&[tag::SEQUENCE, 0])).unwrap();
        assert_eq!((empty.common_name(), empty.organization()), (None, None));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for broken in [&[0x30, 2, 0x31, 1][..], &[0x30, 2, 0x30, 0], &[0x31, 0], &[0x30, 4, 0x31, 2, 0x30, 0]]
        {
            assert!(X509Name::read(&mut DerReader::new(broken)).is_err(), "{broken:?}");
        }
    }
}
