//! DER (X.690): as much as certificates and requests for them need, both ways.

pub(crate) use myriad_x509::write::{bit_string, holding, integer, sequence, value};

/// Tags that are written or asked for.
pub(crate) mod tag {
    pub(crate) const BOOLEAN: u8 = 0x01;
    pub(crate) const INTEGER: u8 = 0x02;
    pub(crate) const OCTET_STRING: u8 = 0x04;
    pub(crate) const NULL: u8 = 0x05;
    pub(crate) const OID: u8 = 0x06;
    pub(crate) const UTF8_STRING: u8 = 0x0c;
    pub(crate) const PRINTABLE_STRING: u8 = 0x13;
    pub(crate) const TELETEX_STRING: u8 = 0x14;
    pub(crate) const IA5_STRING: u8 = 0x16;
    pub(crate) const UTC_TIME: u8 = 0x17;
    pub(crate) const GENERALIZED_TIME: u8 = 0x18;
    pub(crate) const SEQUENCE: u8 = 0x30;
    pub(crate) const SET: u8 = 0x31;
    /// `[number]`, holding other values.
    pub(crate) const fn context(number: u8) -> u8 {
        0xa0 | number
    }
    /// `[number]`, in place of a plain value's own tag.
    pub(crate) const fn context_plain(number: u8) -> u8 {
        0x80 | number
    }
}

/// Object identifiers, encoded.
pub(crate) mod oid {
    pub(crate) const COMMON_NAME: &[u8] = &[0x55, 4, 3];
    pub(crate) const ORGANIZATION: &[u8] = &[0x55, 4, 10];
    pub(crate) const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 17];
    pub(crate) const AUTHORITY_KEY_ID: &[u8] = &[0x55, 0x1d, 35];
    /// `extensionRequest` (RFC 2985).
    pub(crate) const EXTENSION_REQUEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 14];
    /// `id-pe-acmeIdentifier` (RFC 8737).
    pub(crate) const ACME_IDENTIFIER: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 1, 31];
    pub(crate) const ECDSA_WITH_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
    pub(crate) const ECDSA_WITH_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3];
    pub(crate) const ECDSA_WITH_SHA512: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4];
    pub(crate) const SHA256_WITH_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
}

/// Values, one after the other, out of bytes that anybody may have made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next value: its tag, its content, and all of it. `None` where the bytes are not DER.
    pub(crate) fn any(&mut self) -> Option<(u8, &'a [u8], &'a [u8])> {
        let (&tag, after_tag) = self.rest.split_first()?;
        if tag & 0x1f == 0x1f {
            // Tags of several bytes: none in what is read here.
            return None;
        }
        let (&first, mut after_length) = after_tag.split_first()?;
        let length = match first {
            0..=0x7f => usize::from(first),
            0x81..=0x84 => {
                let (bytes, rest) = after_length.split_at_checked(usize::from(first & 0x7f))?;
                after_length = rest;
                bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte))
            }
            _ => return None,
        };
        let (content, rest) = after_length.split_at_checked(length)?;
        let whole = &self.rest[..self.rest.len() - rest.len()];
        self.rest = rest;
        Some((tag, content, whole))
    }

    /// The content of the next value, which must bear this tag.
    pub(crate) fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.any().filter(|(found, ..)| *found == tag).map(|(_, content, _)| content)
    }

    /// The content of the next value if it bears this tag; else nothing is taken.
    pub(crate) fn optional(&mut self, tag: u8) -> Option<&'a [u8]> {
        let before = *self;
        let found = self.expect(tag);
        if found.is_none() {
            *self = before;
        }
        found
    }

    /// A reader of the values in the next one.
    pub(crate) fn inside(&mut self, tag: u8) -> Option<Self> {
        self.expect(tag).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_or_no_der_is_none() {
        let whole = sequence(&[&integer(&[1]), &value(4, &[9; 300])]);
        for length in 0..whole.len() {
            assert!(Reader::new(&whole[..length]).any().is_none(), "{length}");
        }
        for bytes in [&[0x30, 0x80][..], &[0x30, 0x85, 1, 1, 1, 1, 1], &[0x1f, 1, 1]] {
            assert!(Reader::new(bytes).any().is_none());
        }
        let mut reader = Reader::new(&[2, 1, 5]);
        assert!(reader.optional(4).is_none());
        assert_eq!(reader.expect(2), Some(&[5][..]));
    }
}
