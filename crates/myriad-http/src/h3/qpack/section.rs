//! Decoding of QPACK field sections (RFC 9204 §4.5).

use super::MAX_TABLE_CAPACITY;
use super::dynamic::{OVERHEAD, QpackTable};
use super::error::QpackError;
use super::literal::{Literal, read_integer};
use super::table::STATIC;

/// Prefix of a field section (RFC 9204 §4.5.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct SectionPrefix {
    /// Required insert count: number of table insertions after which the section can be decoded.
    pub(super) required: u64,
    /// Absolute index of the dynamic table to which relative indexes in the section refer.
    base: u64,
}

impl SectionPrefix {
    /// Parses the prefix of a field section. `inserted` is the number of table insertions so far. Returns `None` if the
    /// prefix is invalid.
    pub(super) fn read(input: &mut &[u8], inserted: u64) -> Option<Self> {
        let required = decode_required_count(read_integer(input, 8).ok()? as u64, inserted)?;
        let is_negative = *input.first()? & 0x80 != 0;
        let delta = read_integer(input, 7).ok()? as u64;
        let base = if is_negative { required.checked_sub(delta + 1)? } else { required + delta };
        Some(Self { required, base })
    }
}

/// Decodes the required insert count, which is transmitted modulo twice the maximum number of entries (RFC 9204
/// §4.5.1.1); `None` if it is invalid.
fn decode_required_count(encoded: u64, inserted: u64) -> Option<u64> {
    const ENTRIES: u64 = (MAX_TABLE_CAPACITY / OVERHEAD) as u64;
    const RANGE: u64 = 2 * ENTRIES;
    if encoded == 0 {
        return Some(0);
    }
    if encoded > RANGE {
        return None;
    }
    let most = inserted + ENTRIES;
    let count = most / RANGE * RANGE + encoded - 1;
    let count = if count > most { count.checked_sub(RANGE)? } else { count };
    (count > 0).then_some(count)
}

type FieldPair<'a> = (&'a [u8], &'a [u8]);

/// Dynamic table, and the prefix that defines which of its entries a section may use.
#[derive(Clone, Copy)]
struct SectionTables<'a> {
    dynamic: &'a QpackTable,
    prefix: SectionPrefix,
}

impl<'a> SectionTables<'a> {
    /// Returns the entry of the static table with this index if `is_static` is true, otherwise the entry of the dynamic
    /// table with this index relative to the base of the section. Fails if there is no such entry, or the section may
    /// not use it.
    fn entry(self, index: usize, is_static: bool) -> Result<FieldPair<'a>, QpackError> {
        if is_static {
            return STATIC.get(index).copied().ok_or(QpackError::Broken);
        }
        self.absolute(self.prefix.base.checked_sub(index as u64 + 1))
    }

    /// Returns an entry of the dynamic table by its post-base index, which counts from the base of the section upwards.
    /// Fails if there is no such entry, or the section may not use it.
    fn post_base(self, index: usize) -> Result<FieldPair<'a>, QpackError> {
        self.absolute(self.prefix.base.checked_add(index as u64))
    }

    fn absolute(self, index: Option<u64>) -> Result<FieldPair<'a>, QpackError> {
        // RFC 9204 §2.2.3: a section must not refer to entries beyond its required insert count.
        let index = index.filter(|index| *index < self.prefix.required);
        let entry = index.and_then(|index| self.dynamic.get(index)).ok_or(QpackError::Broken)?;
        Ok((&entry.0, &entry.1))
    }
}

fn number(input: &mut &[u8], prefix: u32) -> Result<usize, QpackError> {
    read_integer(input, prefix).map_err(|_| QpackError::Broken)
}

/// Decodes the fields after a prefix, and passes the name and value of each to `take`. All required entries must have
/// arrived.
///
/// Each name and value may have at most `each` bytes, and all together at most `total`. The limits are checked before a
/// field is copied.
pub(super) fn read(
    mut input: &[u8],
    prefix: SectionPrefix,
    dynamic: &QpackTable,
    (each, total): (usize, usize),
    mut take: impl FnMut(&[u8], &[u8]),
) -> Result<(), QpackError> {
    let tables = SectionTables { dynamic, prefix };
    let mut left = total;
    let mut text = Vec::new();
    while let Some(first) = input.first().copied() {
        if let Some((name, value)) = read_entry(&mut input, first, tables)? {
            let both = name.len() + value.len();
            if both > left || name.len().max(value.len()) > each {
                return Err(QpackError::TooLarge);
            }
            take(name, value);
            left -= both;
            continue;
        }
        text.clear();
        let name_length = read_name(&mut input, first, each.min(left), tables, &mut text)?;
        read_string(&mut input, 7, each.min(left - name_length), &mut text)?;
        let (name, value) = text.split_at(name_length);
        take(name, value);
        left -= text.len();
    }
    Ok(())
}

/// Decodes a field if both its name and its value are those of a table entry (RFC 9204 §4.5.2, §4.5.3); returns `None`
/// for other forms.
fn read_entry<'a>(
    input: &mut &[u8],
    first: u8,
    tables: SectionTables<'a>,
) -> Result<Option<FieldPair<'a>>, QpackError> {
    match first {
        0x80.. => tables.entry(number(input, 6)?, first & 0x40 != 0).map(Some),
        0x10..0x20 => tables.post_base(number(input, 4)?).map(Some),
        _ => Ok(None),
    }
}

/// Decodes the name of a field into `text`, and returns its length; the value follows in `input` as a string (RFC 9204
/// §4.5.4 to §4.5.6). Fails if the name has more than `most` bytes.
fn read_name(
    input: &mut &[u8],
    first: u8,
    most: usize,
    tables: SectionTables<'_>,
    text: &mut Vec<u8>,
) -> Result<usize, QpackError> {
    let (name, _) = match first {
        0x40.. => tables.entry(number(input, 4)?, first & 0x10 != 0)?,
        0x20..0x40 => {
            read_string(input, 3, most, text)?;
            return Ok(text.len());
        }
        _ => tables.post_base(number(input, 3)?)?,
    };
    if name.len() > most {
        return Err(QpackError::TooLarge);
    }
    text.extend_from_slice(name);
    Ok(name.len())
}

/// Decodes a string of at most `most` bytes, and appends it to `text`.
fn read_string(input: &mut &[u8], prefix: u32, most: usize, text: &mut Vec<u8>) -> Result<(), QpackError> {
    Literal::read(input, prefix, usize::MAX).map_err(|_| QpackError::Broken)?.append(most, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(section: &[u8]) -> Result<Vec<(String, String)>, QpackError> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut fields = Vec::new();
        let mut input = section;
        let prefix = SectionPrefix::read(&mut input, 0).ok_or(QpackError::Broken)?;
        read(input, prefix, &QpackTable::default(), (100, 150), |name, value| {
            fields.push((text(name), text(value)));
        })?;
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
    fn what_refers_to_nothing_or_is_cut_short_is_refused() {
        for section in [
            &b"\x01\0\x80"[..],
            b"\0\x80",
            b"\xff\x02\0",
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
            assert_eq!(fields(section), Err(QpackError::Broken), "{section:x?}");
        }
    }

    #[test]
    fn fields_are_counted_before_they_are_copied() {
        let long = [&b"\0\0\x51\x7f\x00"[..], &[b'x'; 127]].concat();
        assert_eq!(fields(&long), Err(QpackError::TooLarge));
        // Short references that expand to a large amount of data.
        let many = [&b"\0\0"[..], &[0xd1; 20]].concat();
        assert_eq!(fields(&many), Err(QpackError::TooLarge));
    }
}
