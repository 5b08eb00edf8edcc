//! DER writer (ITU-T X.690), for requests and certificates.

use crate::x509::der::tag;

/// Encodes a DER value from its tag and content.
pub fn value(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len() + 6);
    out.push(tag);
    let length = content.len();
    if length < 0x80 {
        out.push(length as u8);
    } else {
        let bytes = length.to_be_bytes();
        let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len() - 1);
        out.push(0x80 | (bytes.len() - first) as u8);
        out.extend_from_slice(&bytes[first..]);
    }
    out.extend_from_slice(content);
    out
}

/// Encodes a constructed DER value from its tag and the encodings of its parts.
pub fn constructed(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    value(tag, &parts.concat())
}

/// Encodes a DER `SEQUENCE` from the encodings of its elements.
pub fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    constructed(tag::SEQUENCE, parts)
}

/// Encodes a non-negative DER `INTEGER` from its big-endian bytes.
pub fn integer(bytes: &[u8]) -> Vec<u8> {
    let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    let digits = &bytes[first..];
    // A zero byte is added if the number would otherwise be negative or empty.
    let padded = digits.first().is_none_or(|byte| *byte >= 0x80);
    let zero: &[u8] = if padded { &[0] } else { &[] };
    constructed(tag::INTEGER, &[zero, digits])
}

/// Encodes bytes as a DER `BIT STRING`.
pub fn bit_string(bytes: &[u8]) -> Vec<u8> {
    constructed(tag::BIT_STRING, &[&[0], bytes])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::x509::der::DerReader;

    #[test]
    fn lengths_take_as_many_bytes_as_they_need() {
        assert_eq!(value(4, &[1, 2]), [4, 2, 1, 2]);
        assert_eq!(value(4, &[0; 0x80])[..3], [4, 0x81, 0x80]);
        assert_eq!(value(4, &[0; 0x1234])[..4], [4, 0x82, 0x12, 0x34]);
        for length in [0, 1, 127, 128, 255, 256, 65_535, 65_536] {
            let whole = value(4, &vec![7; length]);
            let mut reader = DerReader::new(&whole);
            assert_eq!(reader.expect(4).map(|value| value.content.len()), Ok(length));
            assert!(reader.is_empty());
        }
    }

    #[test]
    fn integers_are_positive_and_short() {
        assert_eq!(integer(&[0, 0, 5]), [2, 1, 5]);
        assert_eq!(integer(&[0x80]), [2, 2, 0, 0x80]);
        assert_eq!(integer(&[0]), [2, 1, 0]);
        assert_eq!(integer(&[]), [2, 1, 0]);
    }
}
