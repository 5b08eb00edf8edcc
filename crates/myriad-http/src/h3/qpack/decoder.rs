//! Field sections to fields (RFC 9204 §4.5).

use super::table::STATIC;
use crate::h2::hpack::{huffman, integer};

/// Why a field section cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// It is no field section, or needs a dynamic table, which this side has not: the connection ends.
    Broken,
    /// A field, or all of them, are larger than allowed.
    TooLarge,
}

/// Reads a whole section and gives `take` each field. Names and values may be at most `total` bytes together, and one field
/// `each` bytes: they are counted before they are copied.
pub fn decode(
    section: &[u8],
    each: usize,
    total: usize,
    mut take: impl FnMut(&[u8], &[u8]),
) -> Result<(), DecodeError> {
    let mut input = section;
    // RFC 9204 §4.5.1: entries of the dynamic table that are needed, none, and where they are counted from.
    if integer::read(&mut input, 8) != Some(0) || integer::read(&mut input, 7).is_none() {
        return Err(DecodeError::Broken);
    }
    let mut left = total;
    let mut text = Vec::new();
    while let Some(first) = input.first() {
        let most = each.min(left);
        left -= if first & 0x80 != 0 {
            let (name, value) = entry(&mut input, first & 0x40 != 0, 6)?;
            if name.len() + value.len() > most {
                return Err(DecodeError::TooLarge);
            }
            take(name, value);
            name.len() + value.len()
        } else {
            text.clear();
            let name_length = read_name(&mut input, *first, most, &mut text)?;
            read_string(&mut input, 7, most - name_length, &mut text)?;
            let (name, value) = text.split_at(name_length);
            take(name, value);
            text.len()
        };
    }
    Ok(())
}

fn entry(
    input: &mut &[u8],
    is_static: bool,
    prefix: u32,
) -> Result<(&'static [u8], &'static [u8]), DecodeError> {
    let index = integer::read(input, prefix).filter(|_| is_static).ok_or(DecodeError::Broken)?;
    STATIC.get(index).copied().ok_or(DecodeError::Broken)
}

/// Reads the name of a literal; how long it is.
fn read_name(input: &mut &[u8], first: u8, most: usize, text: &mut Vec<u8>) -> Result<usize, DecodeError> {
    match first & 0xf0 {
        // RFC 9204 §4.5.4.
        0x40..=0x70 => {
            let (name, _) = entry(input, first & 0x10 != 0, 4)?;
            if name.len() > most {
                return Err(DecodeError::TooLarge);
            }
            text.extend_from_slice(name);
        }
        // RFC 9204 §4.5.6.
        0x20..=0x30 => read_string(input, 3, most, text)?,
        // What is left refers to the dynamic table.
        _ => return Err(DecodeError::Broken),
    }
    Ok(text.len())
}

/// Reads a string of at most `most` bytes whose length has `prefix` bits in its first byte, below the one that says whether
/// it is in the Huffman code.
fn read_string(input: &mut &[u8], prefix: u32, most: usize, text: &mut Vec<u8>) -> Result<(), DecodeError> {
    let coded = input.first().is_some_and(|first| first >> prefix & 1 == 1);
    let length = integer::read(input, prefix).ok_or(DecodeError::Broken)?;
    let (string, rest) = input.split_at_checked(length).ok_or(DecodeError::Broken)?;
    *input = rest;
    if !coded {
        if length > most {
            return Err(DecodeError::TooLarge);
        }
        text.extend_from_slice(string);
        return Ok(());
    }
    let before = text.len();
    huffman::decode(string, most, text)
        .ok_or_else(|| if text.len() - before == most { DecodeError::TooLarge } else { DecodeError::Broken })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(section: &[u8]) -> Result<Vec<(String, String)>, DecodeError> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut fields = Vec::new();
        decode(section, 100, 150, |name, value| fields.push((text(name), text(value))))?;
        Ok(fields)
    }

    #[test]
    fn example_of_the_rfc_is_read() {
        // RFC 9204 §B.1.
        let section = b"\0\0\x51\x0b/index.html";
        assert_eq!(fields(section).unwrap(), [(":path".to_owned(), "/index.html".to_owned())]);
    }

    #[test]
    fn every_kind_of_literal_is_read() {
        let section = b"\0\0\xd1\x23x-a\x01b\x5f\x50\x81\x1f\x29\x1f\x01c";
        let expected = [(":method", "GET"), ("x-a", "b"), ("user-agent", "a"), ("a", "c")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(fields(section).unwrap(), expected);
    }

    #[test]
    fn what_needs_a_dynamic_table_or_is_cut_short_is_refused() {
        for section in [
            &b"\x01\0\x80"[..],
            b"\0\0\x80",
            b"\0\0\x10",
            b"\0\0\x00\x00",
            b"\0\0\x40\x00",
            b"\0\0\xff\x7f",
            b"\0\0\x51\x0b/i",
            b"\0\0\x51\x82\xff\xff",
            b"\0",
            b"",
        ] {
            assert_eq!(fields(section), Err(DecodeError::Broken), "{section:x?}");
        }
    }

    #[test]
    fn fields_are_counted_before_they_are_copied() {
        let long = [&b"\0\0\x51\x7f\x00"[..], &[b'x'; 127]].concat();
        assert_eq!(fields(&long), Err(DecodeError::TooLarge));
        // Small references that stand for much.
        let many = [&b"\0\0"[..], &[0xd1; 20]].concat();
        assert_eq!(fields(&many), Err(DecodeError::TooLarge));
    }
}
