//! Escaping of values in a log line (`log_format … escape=`).

use myriad_conf::model::LogEscape;
use myriad_http::eight_bytes::{HIGH, ONES, equal};
use myriad_script::ValueForm;

use crate::escape::is_unsafe;

/// Appends `value`, escaped by the rules of `escape`, to `out`. Except with `none`, the escaped value contains neither
/// a line break nor an unescaped quotation mark.
pub fn write_escaped(escape: LogEscape, value: &[u8], out: &mut Vec<u8>) {
    Escaped(escape).append(value, out);
}

/// Form of the values in a log line: escaped as [`write_escaped`] does.
pub(super) struct Escaped(pub(super) LogEscape);

impl ValueForm for Escaped {
    #[inline]
    fn append(&self, value: &[u8], out: &mut Vec<u8>) {
        if self.is_plain(value) {
            return out.extend_from_slice(value);
        }
        self.write(value, out);
    }

    #[inline]
    fn convert_appended(&self, out: &mut Vec<u8>, from: usize) {
        if !self.is_plain(&out[from..]) {
            let value = out.split_off(from);
            self.write(&value, out);
        }
    }

    fn missing(&self) -> &[u8] {
        if self.0 == LogEscape::Default { b"-" } else { b"" }
    }
}

impl Escaped {
    /// Returns true if the value needs no escaping. With `json`, returns false also for values with valid UTF-8 beyond
    /// ASCII, although most of these need none.
    fn is_plain(&self, value: &[u8]) -> bool {
        match self.0 {
            LogEscape::None => true,
            LogEscape::Default => !any(value, marks_default),
            LogEscape::Json => !any(value, marks_json),
        }
    }

    fn write(&self, value: &[u8], out: &mut Vec<u8>) {
        match self.0 {
            LogEscape::None => out.extend_from_slice(value),
            LogEscape::Default => write_default(value, out),
            LogEscape::Json => write_json(value, out),
        }
    }
}

/// Returns true if `marks` marks any byte of a value. Tests eight bytes at a time; the last group of eight bytes may
/// overlap with the group before.
#[inline]
fn any(value: &[u8], marks: impl Fn(u64) -> u64) -> bool {
    let is_marked = |bytes: [u8; 8]| marks(u64::from_le_bytes(bytes)) != 0;
    let Some(last) = value.last_chunk::<8>() else { return is_marked(padded(value)) };
    is_marked(*last) || value.as_chunks().0.iter().any(|bytes| is_marked(*bytes))
}

/// Returns a word of eight bytes that contains each byte of a value shorter than eight bytes; the rest of the word is
/// filled with spaces and repeated bytes.
#[inline]
fn padded(value: &[u8]) -> [u8; 8] {
    let mut word = [b' '; 8];
    if let (Some(first), Some(last)) = (value.first_chunk::<4>(), value.last_chunk::<4>()) {
        word[..4].copy_from_slice(first);
        word[4..].copy_from_slice(last);
    } else if let (Some(first), Some(last)) = (value.first(), value.last()) {
        word[..3].copy_from_slice(&[*first, value[value.len() / 2], *last]);
    }
    word
}

/// Sets the high bits of the bytes that [`write_json`] may change: quotes, backslashes, bytes below 32, and bytes from
/// 128, which may be invalid or escaped UTF-8.
#[inline]
const fn marks_json(word: u64) -> u64 {
    // Like `below(word, 32)`, but bytes from 128 stay marked. A borrow affects only a byte above a marked byte.
    (word.wrapping_sub(ONES * 32) | word) & HIGH | equal(word, b'"') | equal(word, b'\\')
}

/// Sets the high bits of the bytes for which [`is_escaped_by_default`] returns true. Adding 1 to 127 sets its high bit.
#[inline]
const fn marks_default(word: u64) -> u64 {
    marks_json(word) | ((word & !HIGH) + ONES) & HIGH
}

fn is_escaped_by_default(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..=31 | 127..=255)
}

fn write_default(value: &[u8], out: &mut Vec<u8>) {
    for &byte in value {
        if is_escaped_by_default(byte) {
            out.extend_from_slice(&[b'\\', b'x', hex(byte >> 4), hex(byte & 15)]);
        } else {
            out.push(byte);
        }
    }
}

/// Appends a value as the content of a JSON string (RFC 8259 section 7). Characters that control terminals or the text
/// direction (except DEL, as in nginx) are escaped, so that a JSON parser still returns the same text. Invalid UTF-8
/// becomes U+FFFD, because JSON is UTF-8.
fn write_json(value: &[u8], out: &mut Vec<u8>) {
    for chunk in value.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' | '\\' => out.extend_from_slice(&[b'\\', character as u8]),
                '\n' => out.extend_from_slice(b"\\n"),
                '\r' => out.extend_from_slice(b"\\r"),
                '\t' => out.extend_from_slice(b"\\t"),
                '\x08' => out.extend_from_slice(b"\\b"),
                '\x0c' => out.extend_from_slice(b"\\f"),
                // As in nginx: DEL is not a control character in JSON.
                '\x7f' => out.push(0x7f),
                _ if is_unsafe(character) => write_unit(character as u32, out),
                _ => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        if !chunk.invalid().is_empty() {
            write_unit(0xfffd, out);
        }
    }
}

/// Appends a code point below U+10000 as `\uXXXX`.
fn write_unit(unit: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\\u");
    for shift in [12, 8, 4, 0] {
        out.push(hex((unit >> shift) as u8));
    }
}

fn hex(digit: u8) -> u8 {
    b"0123456789ABCDEF"[usize::from(digit & 15)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [LogEscape; 3] = [LogEscape::Default, LogEscape::Json, LogEscape::None];

    fn written(escape: LogEscape, value: &[u8]) -> String {
        let mut out = Vec::new();
        write_escaped(escape, value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_client_cannot_forge_a_line_or_close_a_quote() {
        assert_eq!(written(LogEscape::Default, b"a\"b\\c\n\x7f\xc3"), "a\\x22b\\x5Cc\\x0A\\x7F\\xC3");
        assert_eq!(written(LogEscape::Json, b"a\"b\\c\n\x01\t"), "a\\\"b\\\\c\\n\\u0001\\t");
        assert_eq!(written(LogEscape::None, b"\""), "\"");
    }

    #[test]
    fn default_output_is_printable_and_can_be_read_back() {
        for byte in 0..=u8::MAX {
            let shown = written(LogEscape::Default, &[byte]);
            assert!(shown.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'"'), "{shown}");
            let read = match shown.strip_prefix("\\x") {
                Some(digits) => u8::from_str_radix(digits, 16).unwrap(),
                None => shown.as_bytes()[0],
            };
            assert_eq!(read, byte);
        }
    }

    #[test]
    fn json_output_is_a_string_of_json() {
        for seed in 0..4000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let length = random.usize(..30);
            let value: Vec<u8> = (0..length)
                .flat_map(|_| match random.u8(..4) {
                    0 => vec![random.u8(..)],
                    1 => vec![random.u8(..128)],
                    2 => random.char('\u{80}'..='\u{206f}').to_string().into_bytes(),
                    _ => random.char('\0'..='\u{10ffff}').to_string().into_bytes(),
                })
                .collect();
            let shown = written(LogEscape::Json, &value);
            assert!(
                !shown.chars().any(|shown| is_unsafe(shown) && shown != '\x7f'),
                "seed {seed}: {shown:?}"
            );
            let read: String = serde_json::from_str(&format!("\"{shown}\"")).expect("a string of JSON");
            assert_eq!(read, String::from_utf8_lossy(&value), "seed {seed}");
        }
    }

    #[test]
    fn json_escapes_what_steers_a_reader_and_replaces_what_is_no_utf8() {
        let json = |value: &[u8]| written(LogEscape::Json, value);
        assert_eq!(json("é日🦀\u{a0}".as_bytes()), "é日🦀\u{a0}");
        assert_eq!(json("a\u{9b}31m\u{202e}\u{2066}\u{2028}".as_bytes()), "a\\u009B31m\\u202E\\u2066\\u2028");
        assert_eq!(json(b"a\xffb\x9b\xe6\x97"), "a\\uFFFDb\\uFFFD\\uFFFD");
        // Overlong encodings and surrogates are invalid UTF-8.
        assert_eq!(json(b"\xc0\x8a"), "\\uFFFD\\uFFFD");
        assert!(json(b"\xed\xa0\x80").is_ascii());
    }

    #[test]
    fn json_uses_the_short_forms_where_there_are_any() {
        assert_eq!(written(LogEscape::Json, b"\x08\x0c\r\x1f\x7f/"), "\\b\\f\\r\\u001F\x7f/");
    }

    #[test]
    fn values_are_appended_and_an_empty_one_is_nothing() {
        let mut out = b"before ".to_vec();
        for escape in ALL {
            write_escaped(escape, b"", &mut out);
            write_escaped(escape, b"a", &mut out);
        }
        assert_eq!(out, b"before aaa");
    }

    #[test]
    fn only_the_default_shows_what_does_not_exist() {
        assert_eq!(
            ALL.map(|escape| Escaped(escape).missing().to_vec()),
            [b"-".to_vec(), Vec::new(), Vec::new()]
        );
    }

    #[test]
    fn a_byte_is_escaped_wherever_it_stands() {
        for length in 1..50 {
            for at in 0..length {
                for byte in [b'"', b'\\', 0, 31, 127, 128, 255] {
                    let mut value = vec![b'a'; length];
                    value[at] = byte;
                    let shown =
                        |byte: &str| format!("{}{byte}{}", "a".repeat(at), "a".repeat(length - at - 1));
                    let wanted = shown(&format!("\\x{byte:02X}"));
                    assert_eq!(written(LogEscape::Default, &value), wanted, "{length} {at}");
                }
                let mut value = vec![b'a'; length];
                value[at] = b'\n';
                assert!(written(LogEscape::Json, &value).contains("a\\n") || at == 0, "{length} {at}");
                assert!(!written(LogEscape::Json, &value).contains('\n'), "{length} {at}");
            }
        }
    }

    #[test]
    fn a_value_is_plain_where_no_byte_of_it_is_escaped() {
        let in_json = |byte: u8| matches!(byte, b'"' | b'\\' | 0..=31 | 128..=255);
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..50_000 {
            let mut value: Vec<u8> = (0..random.usize(..40)).map(|_| random.u8(b'#'..b'[')).collect();
            for _ in 0..random.usize(..3).min(value.len()) {
                let at = random.usize(..value.len());
                value[at] = random.u8(..);
            }
            let plain = |escape| Escaped(escape).is_plain(&value);
            let marked = |is: fn(u8) -> bool| value.iter().any(|byte| is(*byte));
            assert_eq!(plain(LogEscape::Default), !marked(is_escaped_by_default), "{value:?}");
            assert_eq!(plain(LogEscape::Json), !marked(in_json), "{value:?}");
        }
    }

    #[test]
    fn escaping_in_place_equals_escaping_on_append() {
        for escape in ALL {
            for value in [&b""[..], b"plain", b"a\"b", b"\n", b"a longer one that ends with a tab\t"] {
                let mut out = b"before\n ".to_vec();
                out.extend_from_slice(value);
                Escaped(escape).convert_appended(&mut out, 8);
                let mut wanted = b"before\n ".to_vec();
                write_escaped(escape, value, &mut wanted);
                assert_eq!(out, wanted);
            }
        }
    }
}
