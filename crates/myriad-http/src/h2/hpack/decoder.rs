//! HPACK decoder: decodes header blocks into fields (RFC 7541 §3, §6).

use super::table::HpackTable;
use super::{huffman, integer};

/// Reason why a header block cannot be decoded. The connection must then be closed (RFC 9113 §4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HpackError {
    /// The block is malformed: it is truncated, or contains an index beyond the tables, an invalid integer or string,
    /// or a size update that is not allowed.
    Broken,
    /// A name or value, or all of them together, exceed the limit passed to the decoder.
    TooLarge,
}

/// Decoder of the header blocks of a connection, with its dynamic table.
#[derive(Debug)]
pub struct HpackDecoder {
    table: HpackTable,
    /// Maximum table size in bytes that the peer may select: the announced `SETTINGS_HEADER_TABLE_SIZE`.
    most: usize,
    /// Buffer for a decoded field: the name, then the value.
    text: Vec<u8>,
}

impl HpackDecoder {
    /// Creates a decoder with a dynamic table of at most `most` bytes.
    pub fn new(most: usize) -> Self {
        Self { table: HpackTable::new(most), most, text: Vec::new() }
    }

    /// Decodes a complete block, and passes the name and value of each field to `take`.
    ///
    /// Each name and value may have at most `each` bytes, and all together at most `total`. The limits are checked
    /// before a field is copied, so that a small block cannot expand to a large amount of data.
    pub fn decode(
        &mut self,
        block: &[u8],
        each: usize,
        total: usize,
        mut take: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let mut input = block;
        let mut left = total;
        let mut updates = 0;
        let mut began = false;
        while let Some(first) = input.first() {
            if first & 0xe0 == 0x20 {
                // RFC 7541 §4.2: allowed only at the start of a block, at most twice.
                updates += 1;
                let size = integer::read(&mut input, 5).ok_or(HpackError::Broken)?;
                if began || updates > 2 || size > self.most {
                    return Err(HpackError::Broken);
                }
                self.table.resize(size);
                continue;
            }
            began = true;
            let used = if first & 0x80 != 0 {
                let index = integer::read(&mut input, 7).ok_or(HpackError::Broken)?;
                let (name, value) = self.table.get(index).ok_or(HpackError::Broken)?;
                let used = name.len() + value.len();
                if used > left || name.len().max(value.len()) > each {
                    return Err(HpackError::TooLarge);
                }
                take(name, value);
                used
            } else {
                let name_len = self.read_literal(&mut input, each, left)?;
                let (name, value) = self.text.split_at(name_len);
                take(name, value);
                self.text.len()
            };
            left -= used;
        }
        Ok(())
    }

    /// Decodes a field that is not fully indexed (RFC 7541 §6.2) into `text`, and adds it to the table if it is to be
    /// indexed. Returns the length of the name. Fails if name or value has more than `each` bytes, or both together
    /// more than `left`.
    fn read_literal(&mut self, input: &mut &[u8], each: usize, left: usize) -> Result<usize, HpackError> {
        let indexed = input.first().is_some_and(|first| first & 0x40 != 0);
        let index = integer::read(input, if indexed { 6 } else { 4 }).ok_or(HpackError::Broken)?;
        self.text.clear();
        if index == 0 {
            self.read_string(input, each.min(left))?;
        } else {
            let (name, _) = self.table.get(index).ok_or(HpackError::Broken)?;
            if name.len() > each.min(left) {
                return Err(HpackError::TooLarge);
            }
            self.text.extend_from_slice(name);
        }
        let name_len = self.text.len();
        self.read_string(input, each.min(left - name_len))?;
        if indexed {
            let (name, value) = self.text.split_at(name_len);
            self.table.insert(name, value);
        }
        Ok(name_len)
    }

    /// Decodes a string (RFC 7541 §5.2) of at most `most` bytes, and appends it to `text`.
    fn read_string(&mut self, input: &mut &[u8], most: usize) -> Result<(), HpackError> {
        let coded = input.first().is_some_and(|first| first & 0x80 != 0);
        let length = integer::read(input, 7).ok_or(HpackError::Broken)?;
        let (string, rest) = input.split_at_checked(length).ok_or(HpackError::Broken)?;
        *input = rest;
        if !coded {
            if length > most {
                return Err(HpackError::TooLarge);
            }
            self.text.extend_from_slice(string);
            return Ok(());
        }
        let before = self.text.len();
        huffman::decode(string, most, &mut self.text).ok_or_else(|| {
            if self.text.len() - before == most { HpackError::TooLarge } else { HpackError::Broken }
        })
    }

    #[cfg(test)]
    pub(super) fn table_size(&self) -> usize {
        self.table.size()
    }
}
