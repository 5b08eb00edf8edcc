//! Conversion of bodies between charsets.

use std::io::Write;

use bytes::Bytes;
use myriad_http::body::BodyError;

use super::tables::ConversionTable;
use crate::transform::{Transform, WINDOW};

/// Streaming converter, which buffers the bytes of an incomplete character.
pub(crate) struct Converter {
    table: ConversionTable,
    /// First bytes of an incomplete UTF-8 character, at most three.
    incomplete: Vec<u8>,
}

impl Converter {
    pub(crate) fn new(table: ConversionTable) -> Self {
        Self { table, incomplete: Vec::new() }
    }

    /// Converts a complete text to the target charset.
    pub(crate) fn whole(mut self, text: &[u8]) -> Bytes {
        let (mut rest, mut out) = (text, Vec::with_capacity(text.len()));
        // `push` cannot fail; it returns true once all input is consumed.
        while let Ok(false) = self.push(&mut rest, &mut out) {}
        let _ = self.finish(&mut out);
        Bytes::from(out)
    }

    /// Adds a byte to the incomplete UTF-8 character, and converts the character if this completes it. An invalid
    /// sequence becomes `?`.
    fn decode(&mut self, byte: u8, out: &mut Vec<u8>) {
        self.incomplete.push(byte);
        match std::str::from_utf8(&self.incomplete) {
            Ok(text) => {
                let character = text.chars().next().map_or(0, u32::from);
                self.character(character, out);
                self.incomplete.clear();
            }
            // Further bytes may complete the character.
            Err(error) if error.error_len().is_none() => {}
            Err(_) => {
                out.push(b'?');
                let starts_character = self.incomplete.len() > 1 && !(0x80..0xc0).contains(&byte);
                self.incomplete.clear();
                if starts_character {
                    self.byte(byte, out);
                }
            }
        }
    }

    fn byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        if byte.is_ascii() && self.incomplete.is_empty() {
            out.push(byte);
        } else {
            self.decode(byte, out);
        }
    }

    /// Appends a character in the target charset; one that the charset lacks becomes a numeric HTML entity.
    fn character(&self, character: u32, out: &mut Vec<u8>) {
        let ConversionTable::FromUtf8(table) = &self.table else { return };
        match table.get(&character) {
            Some(byte) => out.push(*byte),
            None => {
                // Writing to memory cannot fail.
                let _ = write!(out, "&#{character};");
            }
        }
    }
}

impl Transform for Converter {
    fn push(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<bool, BodyError> {
        let (now, later) = input.split_at(input.len().min(WINDOW));
        *input = later;
        match &self.table {
            ConversionTable::Bytes(table) => out.extend(now.iter().map(|byte| table[usize::from(*byte)])),
            ConversionTable::ToUtf8(table) => {
                for byte in now {
                    out.extend_from_slice(&table[usize::from(*byte)]);
                }
            }
            ConversionTable::FromUtf8(_) => now.iter().for_each(|byte| self.byte(*byte, out)),
        }
        Ok(later.is_empty())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), BodyError> {
        if !std::mem::take(&mut self.incomplete).is_empty() {
            out.push(b'?');
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::tests::run;

    fn koi8() -> [ConversionTable; 2] {
        ConversionTable::with_utf8(&[(0xc1, "а".into()), (0xc2, "б".into())])
    }

    fn converted(table: &ConversionTable, text: &[u8]) -> Vec<u8> {
        let whole = run(Converter::new(table.clone()), text, text.len());
        for size in 1..5 {
            assert_eq!(run(Converter::new(table.clone()), text, size), whole, "in pieces of {size}");
        }
        whole
    }

    #[test]
    fn bytes_become_characters_and_back_across_the_borders_of_pieces() {
        let [there, back] = koi8();
        assert_eq!(converted(&there, b"x\xc1\xc2\xff"), "xаб?".as_bytes());
        assert_eq!(converted(&back, "xаб".as_bytes()), b"x\xc1\xc2");
    }

    #[test]
    fn character_that_the_charset_lacks_is_an_entity_and_no_character_a_question_mark() {
        let [_, back] = koi8();
        assert_eq!(converted(&back, "в€😀".as_bytes()), b"&#1074;&#8364;&#128512;");
        assert_eq!(converted(&back, b"\xd0x\xff\xe2\x82"), b"?x??");
    }

    #[test]
    fn bytes_become_bytes() {
        let [there, back] = ConversionTable::between_bytes(&[(0xe1, vec![0xc1])]);
        assert_eq!(converted(&there, b"a\xe1\xe2"), b"a\xc1?");
        assert_eq!(converted(&back, b"\xc1"), b"\xe1");
    }
}
