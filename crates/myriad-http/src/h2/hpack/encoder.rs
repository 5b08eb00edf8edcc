//! Fields to header blocks (RFC 7541 §6).

use super::table::{STATIC, Table};
use super::{huffman, integer};

/// The table that answers are compressed against, bytes, where the client keeps as much: a site's own fields fit, and
/// looking through it stays cheap.
const TABLE: usize = 2048;

/// Values longer than this are not remembered: one would push out all others.
const REMEMBERED: usize = 256;

/// Writes header blocks; its table is that of the connection.
#[derive(Debug)]
pub struct Encoder {
    table: Table,
    /// Sizes to tell before the next block (RFC 7541 §4.2): the smallest since the last, and the one that holds.
    updates: Option<(usize, usize)>,
    name: Vec<u8>,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { table: Table::new(TABLE), updates: Some((TABLE, TABLE)), name: Vec::new() }
    }
}

impl Encoder {
    /// The client keeps a table of `size` bytes (`SETTINGS_HEADER_TABLE_SIZE`).
    pub fn limit_table(&mut self, size: u32) {
        let size = TABLE.min(size as usize);
        if size != self.table.max() {
            let least = self.updates.map_or(size, |(least, _)| least.min(size));
            self.updates = Some((least, size));
            self.table.resize(size);
        }
    }

    /// Begins a block; each must, before its first field.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if let Some((least, last)) = self.updates.take() {
            if least < last {
                integer::write(out, 0x20, 5, least);
            }
            integer::write(out, 0x20, 5, last);
        }
    }

    /// Appends `:status`.
    pub fn status(&mut self, status: u16, out: &mut Vec<u8>) {
        let digits = [status / 100, status / 10, status].map(|digit| b'0' + (digit % 10) as u8);
        if let Some(place) = STATIC[7..14].iter().position(|(_, value)| *value == digits) {
            out.push(0x80 | (place + 8) as u8);
        } else {
            integer::write(out, 0, 4, 8);
            string(&digits, out);
        }
    }

    /// Appends a field; its name may be in any case.
    pub fn field(&mut self, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
        self.name.clear();
        self.name.extend(name.iter().map(u8::to_ascii_lowercase));
        let name = &self.name[..];
        let kept = worth_keeping(name, value);
        if kept && let Some(index) = self.table.find(name, value) {
            return integer::write(out, 0x80, 7, index);
        }
        let index = STATIC.iter().position(|(known, _)| *known == name).map_or(0, |place| place + 1);
        match (kept, name) {
            (true, _) => {
                integer::write(out, 0x40, 6, index);
                self.table.insert(name, value);
            }
            // RFC 7541 §7.1.3: nobody on the way may keep it either.
            (false, b"authorization" | b"proxy-authorization") => {
                integer::write(out, 0x10, 4, index);
            }
            _ => integer::write(out, 0, 4, index),
        }
        if index == 0 {
            string(name, out);
        }
        string(value, out);
    }
}

/// Whether a field is likely to come again with this very value, and nobody's secret.
fn worth_keeping(name: &[u8], value: &[u8]) -> bool {
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

/// Appends a string, by the Huffman code where that is shorter.
fn string(text: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::encoded_len(text);
    if coded < text.len() {
        integer::write(out, 0x80, 7, coded);
        huffman::encode(text, out);
    } else {
        integer::write(out, 0, 7, text.len());
        out.extend_from_slice(text);
    }
}
