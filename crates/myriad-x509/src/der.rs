//! DER (ITU-T X.690), as far as certificates need it.

use std::fmt;

/// Bytes that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is no certificate in DER")
    }
}

impl std::error::Error for Malformed {}

pub(crate) mod tag {
    pub(crate) const BOOLEAN: u8 = 0x01;
    pub(crate) const INTEGER: u8 = 0x02;
    pub(crate) const BIT_STRING: u8 = 0x03;
    pub(crate) const OCTET_STRING: u8 = 0x04;
    pub(crate) const OID: u8 = 0x06;
    pub(crate) const UTF8_STRING: u8 = 0x0c;
    pub(crate) const PRINTABLE_STRING: u8 = 0x13;
    pub(crate) const T61_STRING: u8 = 0x14;
    pub(crate) const IA5_STRING: u8 = 0x16;
    pub(crate) const UTC_TIME: u8 = 0x17;
    pub(crate) const GENERALIZED_TIME: u8 = 0x18;
    pub(crate) const UNIVERSAL_STRING: u8 = 0x1c;
    pub(crate) const BMP_STRING: u8 = 0x1e;
    pub(crate) const SEQUENCE: u8 = 0x30;
    pub(crate) const SET: u8 = 0x31;

    /// `[number]`, constructed.
    pub(crate) const fn context(number: u8) -> u8 {
        0xa0 | number
    }

    /// `[number]`, primitive.
    pub(crate) const fn implicit(number: u8) -> u8 {
        0x80 | number
    }
}

/// One value: its tag, what it holds, and all of its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'a> {
    pub(crate) tag: u8,
    pub(crate) content: &'a [u8],
    pub(crate) whole: &'a [u8],
}

/// Reads values one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next value: a tag of one byte and a definite length, of which no certificate needs more than four bytes.
    pub(crate) fn value(&mut self) -> Result<Value<'a>, Malformed> {
        let [tag, first, ..] = *self.rest else { return Err(Malformed) };
        if tag & 0x1f == 0x1f {
            return Err(Malformed);
        }
        let (head, length) = if first < 0x80 {
            (2, usize::from(first))
        } else {
            let count = usize::from(first & 0x7f);
            if !(1..=4).contains(&count) {
                return Err(Malformed);
            }
            let digits = self.rest.get(2..2 + count).ok_or(Malformed)?;
            (2 + count, digits.iter().fold(0usize, |length, digit| length << 8 | usize::from(*digit)))
        };
        let end = head.checked_add(length).ok_or(Malformed)?;
        let whole = self.rest.get(..end).ok_or(Malformed)?;
        self.rest = &self.rest[end..];
        Ok(Value { tag, content: &whole[head..], whole })
    }

    /// The next value, which must have that tag.
    pub(crate) fn expect(&mut self, tag: u8) -> Result<Value<'a>, Malformed> {
        self.optional(tag)?.ok_or(Malformed)
    }

    /// The next value if it has that tag.
    pub(crate) fn optional(&mut self, tag: u8) -> Result<Option<Value<'a>>, Malformed> {
        if self.rest.first() == Some(&tag) { self.value().map(Some) } else { Ok(None) }
    }

    /// The values in the next one, which must have that tag.
    pub(crate) fn inside(&mut self, tag: u8) -> Result<Self, Malformed> {
        self.expect(tag).map(|value| Self::new(value.content))
    }

    /// A bit string of whole bytes.
    pub(crate) fn bits(&mut self) -> Result<&'a [u8], Malformed> {
        match self.expect(tag::BIT_STRING)?.content {
            [0, bytes @ ..] => Ok(bytes),
            _ => Err(Malformed),
        }
    }

    /// A boolean; false where it is left out.
    pub(crate) fn flag(&mut self) -> Result<bool, Malformed> {
        match self.optional(tag::BOOLEAN)? {
            None => Ok(false),
            Some(Value { content: [byte], .. }) => Ok(*byte != 0),
            Some(_) => Err(Malformed),
        }
    }

    /// Asserts that nothing follows.
    pub(crate) fn end(self) -> Result<(), Malformed> {
        if self.is_empty() { Ok(()) } else { Err(Malformed) }
    }
}

impl<'a> Value<'a> {
    pub(crate) fn values(&self) -> Reader<'a> {
        Reader::new(self.content)
    }

    /// A small number that is not negative; more than 32 bits count as the most that there is.
    pub(crate) fn small(&self) -> Result<u32, Malformed> {
        match self.content {
            [] => Err(Malformed),
            [first, ..] if *first >= 0x80 => Err(Malformed),
            digits => Ok(digits.iter().fold(0u32, |number, digit| {
                number.checked_mul(256).map_or(u32::MAX, |number| number | u32::from(*digit))
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_and_bounded() {
        let long = [&[4, 0x81, 0x80][..], &[7; 128]].concat();
        assert_eq!(Reader::new(&long).value().unwrap().content.len(), 128);
        for broken in [
            &[4][..],
            &[4, 1],
            &[4, 0x80],
            &[4, 0x85, 1, 1, 1, 1, 1],
            &[0x1f, 0],
            &[4, 0x84, 255, 255, 255, 255],
        ] {
            assert!(Reader::new(broken).value().is_err(), "{broken:?}");
        }
    }

    #[test]
    fn numbers_stay_within_bounds() {
        let small = |bytes: &[u8]| Reader::new(bytes).value().and_then(|value| value.small());
        assert_eq!(small(&[2, 1, 5]), Ok(5));
        assert_eq!(small(&[2, 2, 1, 0]), Ok(256));
        assert_eq!(small(&[2, 5, 1, 0, 0, 0, 0]), Ok(u32::MAX));
        assert_eq!(small(&[2, 1, 0xff]), Err(Malformed));
    }
}
