//! DER reader (ITU-T X.690). Public for the fuzz test. The writer is [`crate::x509::write`].
//!
//! As in OpenSSL, lengths may be encoded with more bytes than necessary, because some CAs do this.

use std::fmt;

/// Error: the bytes are not valid DER or have an unexpected structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedDer;

impl fmt::Display for MalformedDer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("invalid DER encoding")
    }
}

impl std::error::Error for MalformedDer {}

/// Tags of DER values.
pub mod tag {
    /// Tag of `BOOLEAN`.
    pub const BOOLEAN: u8 = 0x01;
    /// Tag of `INTEGER`.
    pub const INTEGER: u8 = 0x02;
    /// Tag of `BIT STRING`.
    pub const BIT_STRING: u8 = 0x03;
    /// Tag of `OCTET STRING`.
    pub const OCTET_STRING: u8 = 0x04;
    /// Tag of `NULL`.
    pub const NULL: u8 = 0x05;
    /// Tag of `OBJECT IDENTIFIER`.
    pub const OID: u8 = 0x06;
    /// Tag of `ENUMERATED`.
    pub const ENUMERATED: u8 = 0x0a;
    /// Tag of `UTF8String`.
    pub const UTF8_STRING: u8 = 0x0c;
    /// Tag of `PrintableString`.
    pub const PRINTABLE_STRING: u8 = 0x13;
    /// Tag of `T61String`, also called `TeletexString`.
    pub const T61_STRING: u8 = 0x14;
    /// Tag of `IA5String` (ASCII).
    pub const IA5_STRING: u8 = 0x16;
    /// Tag of `UTCTime`.
    pub const UTC_TIME: u8 = 0x17;
    /// Tag of `GeneralizedTime`.
    pub const GENERALIZED_TIME: u8 = 0x18;
    /// Tag of `UniversalString` (UTF-32).
    pub const UNIVERSAL_STRING: u8 = 0x1c;
    /// Tag of `BMPString` (UTF-16).
    pub const BMP_STRING: u8 = 0x1e;
    /// Tag of `SEQUENCE`.
    pub const SEQUENCE: u8 = 0x30;
    /// Tag of `SET`.
    pub const SET: u8 = 0x31;

    /// Returns the context-specific tag `[number]` of a constructed value.
    pub const fn context(number: u8) -> u8 {
        0xa0 | number
    }

    /// Returns the context-specific tag `[number]` of a primitive value (implicit tagging).
    pub const fn implicit(number: u8) -> u8 {
        0x80 | number
    }
}

/// DER value: tag, content and complete encoding.
#[derive(Clone, Copy, Debug)]
pub struct DerValue<'a> {
    /// Tag; see [`tag`] for constants.
    pub tag: u8,
    /// Content bytes, without tag and length.
    pub content: &'a [u8],
    /// Complete encoding: tag, length and content.
    pub whole: &'a [u8],
}

/// Reader of a sequence of DER values from untrusted bytes. Never panics. A value with an unexpected tag or an invalid
/// length is not consumed.
#[derive(Clone, Copy, Debug)]
pub struct DerReader<'a> {
    rest: &'a [u8],
}

impl<'a> DerReader<'a> {
    /// Creates a reader of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns true if no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads the next value. Supports tags of one byte and definite lengths of at most four bytes, which is enough for
    /// certificates.
    pub fn value(&mut self) -> Result<DerValue<'a>, MalformedDer> {
        let [tag, first, ..] = *self.rest else { return Err(MalformedDer) };
        if tag & 0x1f == 0x1f {
            return Err(MalformedDer);
        }
        let (head, length) = if first < 0x80 {
            (2, usize::from(first))
        } else {
            let count = usize::from(first & 0x7f);
            if !(1..=4).contains(&count) {
                return Err(MalformedDer);
            }
            let digits = self.rest.get(2..2 + count).ok_or(MalformedDer)?;
            (2 + count, digits.iter().fold(0usize, |length, digit| length << 8 | usize::from(*digit)))
        };
        let end = head.checked_add(length).ok_or(MalformedDer)?;
        let whole = self.rest.get(..end).ok_or(MalformedDer)?;
        self.rest = &self.rest[end..];
        Ok(DerValue { tag, content: &whole[head..], whole })
    }

    /// Reads the next value; fails if it has another tag.
    pub fn expect(&mut self, tag: u8) -> Result<DerValue<'a>, MalformedDer> {
        self.optional(tag)?.ok_or(MalformedDer)
    }

    /// Reads the next value if it has this tag; `None` otherwise, without consuming it.
    pub fn optional(&mut self, tag: u8) -> Result<Option<DerValue<'a>>, MalformedDer> {
        if self.rest.first() == Some(&tag) { self.value().map(Some) } else { Ok(None) }
    }

    /// Reads the next value and returns a reader of its content; fails if it has another tag.
    pub fn inside(&mut self, tag: u8) -> Result<Self, MalformedDer> {
        self.expect(tag).map(|value| Self::new(value.content))
    }

    /// Reads a bit string and returns its bytes; fails if the number of its bits is not a multiple of 8.
    pub fn bits(&mut self) -> Result<&'a [u8], MalformedDer> {
        match self.expect(tag::BIT_STRING)?.content {
            [0, bytes @ ..] => Ok(bytes),
            _ => Err(MalformedDer),
        }
    }

    /// Reads an optional boolean; returns false, without reading, if the next value is not a boolean. Every content
    /// byte except 0 is true.
    pub fn flag(&mut self) -> Result<bool, MalformedDer> {
        match self.optional(tag::BOOLEAN)? {
            None => Ok(false),
            Some(DerValue { content: [byte], .. }) => Ok(*byte != 0),
            Some(_) => Err(MalformedDer),
        }
    }

    /// Fails if bytes are left.
    pub fn end(self) -> Result<(), MalformedDer> {
        if self.is_empty() { Ok(()) } else { Err(MalformedDer) }
    }
}

impl<'a> DerValue<'a> {
    /// Returns a reader of the values in this value.
    pub fn values(&self) -> DerReader<'a> {
        DerReader::new(self.content)
    }

    /// Returns the value as a non-negative integer; `u32::MAX` if it has more than 32 bits. Fails if it is negative or
    /// empty.
    pub fn small(&self) -> Result<u32, MalformedDer> {
        match self.content {
            [] => Err(MalformedDer),
            [first, ..] if *first >= 0x80 => Err(MalformedDer),
            digits => Ok(digits.iter().fold(0u32, |number, digit| {
                number.checked_mul(256).map_or(u32::MAX, |number| number | u32::from(*digit))
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::x509::write::{integer, sequence, value};

    #[test]
    fn lengths_are_read_and_bounded() {
        let long = [&[4, 0x81, 0x80][..], &[7; 128]].concat();
        assert_eq!(DerReader::new(&long).value().unwrap().content.len(), 128);
        for broken in [
            &[4][..],
            &[4, 1],
            &[4, 0x80],
            &[4, 0x85, 1, 1, 1, 1, 1],
            &[0x1f, 0],
            &[4, 0x84, 255, 255, 255, 255],
        ] {
            assert!(DerReader::new(broken).value().is_err(), "{broken:?}");
        }
    }

    #[test]
    fn what_is_cut_is_refused_and_what_is_refused_is_not_taken() {
        let whole = sequence(&[&integer(&[1]), &value(tag::OCTET_STRING, &[9; 300])]);
        for length in 0..whole.len() {
            assert!(DerReader::new(&whole[..length]).value().is_err(), "{length}");
        }
        let mut reader = DerReader::new(&[2, 1, 5, 4, 9]);
        assert!(reader.optional(tag::OCTET_STRING).is_ok_and(|value| value.is_none()));
        assert!(reader.expect(tag::OCTET_STRING).is_err());
        assert_eq!(reader.expect(tag::INTEGER).map(|value| value.content), Ok(&[5][..]));
        assert!(reader.value().is_err() && !reader.is_empty());
    }

    #[test]
    fn flags_and_bits_have_one_form() {
        let flag = |bytes: &[u8]| DerReader::new(bytes).flag();
        assert_eq!([flag(&[]), flag(&[1, 1, 0]), flag(&[1, 1, 1])], [Ok(false), Ok(false), Ok(true)]);
        assert_eq!([flag(&[1, 0]), flag(&[1, 2, 0, 0])], [Err(MalformedDer); 2]);
        let bits = |bytes: &'static [u8]| DerReader::new(bytes).bits();
        assert_eq!([bits(&[3, 2, 0, 7]), bits(&[3, 1, 0])], [Ok(&[7][..]), Ok(&[][..])]);
        assert_eq!([bits(&[3, 2, 1, 6]), bits(&[3, 0]), bits(&[4, 1, 0])], [Err(MalformedDer); 3]);
    }

    #[test]
    fn numbers_stay_within_bounds() {
        let small = |bytes: &[u8]| DerReader::new(bytes).value().and_then(|value| value.small());
        assert_eq!(small(&[2, 1, 5]), Ok(5));
        assert_eq!(small(&[2, 2, 1, 0]), Ok(256));
        assert_eq!(small(&[2, 5, 1, 0, 0, 0, 0]), Ok(u32::MAX));
        assert_eq!(small(&[2, 1, 0xff]), Err(MalformedDer));
    }
}
