//! HPACK encoder: encodes fields into header blocks (RFC 7541 §6).

use super::table::{HpackTable, STATIC};
use super::{huffman, integer};

/// Maximum size of the encoder's dynamic table in bytes; the table is smaller if the peer allows less. The recurring
/// fields of a site fit, and a search is cheap.
const TABLE: usize = 2048;

/// Maximum length in bytes of a value that is added to the dynamic table; longer values would evict many others.
const REMEMBERED: usize = 256;

/// Encoder of the header blocks of a connection, with its dynamic table.
#[derive(Debug)]
pub struct HpackEncoder {
    table: HpackTable,
    /// Size updates to send with the next block (RFC 7541 §4.2): the smallest size since the last block, and the
    /// current size; `None` if the size has not changed.
    updates: Option<(usize, usize)>,
    name: Vec<u8>,
}

impl Default for HpackEncoder {
    fn default() -> Self {
        Self { table: HpackTable::new(TABLE), updates: Some((TABLE, TABLE)), name: Vec::new() }
    }
}

impl HpackEncoder {
    /// Sets the maximum table size that the peer allows (`SETTINGS_HEADER_TABLE_SIZE`). The encoder uses at most 2048
    /// bytes of it.
    pub fn set_peer_table_size(&mut self, size: u32) {
        let size = TABLE.min(size as usize);
        if size != self.table.max() {
            let least = self.updates.map_or(size, |(least, _)| least.min(size));
            self.updates = Some((least, size));
            self.table.resize(size);
        }
    }

    /// Starts a header block with pending changes of the table size; call before its first field.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if let Some((least, last)) = self.updates.take() {
            if least < last {
                integer::write(out, 0x20, 5, least);
            }
            integer::write(out, 0x20, 5, last);
        }
    }

    /// Appends the pseudo-field `:status` to `out`.
    pub fn status(&mut self, status: u16, out: &mut Vec<u8>) {
        let digits = [status / 100, status / 10, status].map(|digit| b'0' + (digit % 10) as u8);
        if let Some(place) = STATIC[7..14].iter().position(|(_, value)| *value == digits) {
            out.push(0x80 | (place + 8) as u8);
        } else {
            integer::write(out, 0, 4, 8);
            write_string(&digits, out);
        }
    }

    /// Appends a field. Upper-case letters in its name are converted to lower case.
    pub fn field(&mut self, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
        self.name.clear();
        self.name.extend(name.iter().map(u8::to_ascii_lowercase));
        let name = &self.name[..];
        let is_indexed = is_worth_indexing(name, value);
        if is_indexed && let Some(index) = self.table.find(name, value) {
            return integer::write(out, 0x80, 7, index);
        }
        let index = STATIC.iter().position(|(known, _)| *known == name).map_or(0, |place| place + 1);
        match (is_indexed, name) {
            (true, _) => {
                integer::write(out, 0x40, 6, index);
                self.table.insert(name, value);
            }
            // RFC 7541 §7.1.3: intermediaries must not add the field to a table either.
            (false, b"authorization" | b"proxy-authorization") => {
                integer::write(out, 0x10, 4, index);
            }
            _ => integer::write(out, 0, 4, index),
        }
        if index == 0 {
            write_string(name, out);
        }
        write_string(value, out);
    }
}

/// Returns whether a field is added to the dynamic table: its value has at most [`REMEMBERED`] bytes, and its name is
/// not in the list of this function (fields whose values rarely recur or are secret).
fn is_worth_indexing(name: &[u8], value: &[u8]) -> bool {
    !matches!(
        name,
        b":path"
            | b"age"
            | b"authorization"
            | b"content-length"
            | b"content-location"
            | b"content-range"
            | b"cookie"
            | b"date"
            | b"etag"
            | b"expires"
            | b"last-modified"
            | b"location"
            | b"proxy-authorization"
            | b"set-cookie"
    ) && value.len() <= REMEMBERED
}

/// Appends a string to `out`, Huffman-coded if that is shorter.
fn write_string(text: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::encoded_len(text);
    if coded < text.len() {
        integer::write(out, 0x80, 7, coded);
        huffman::encode(text, out);
    } else {
        integer::write(out, 0, 7, text.len());
        out.extend_from_slice(text);
    }
}
