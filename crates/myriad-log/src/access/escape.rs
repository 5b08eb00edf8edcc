//! Escaping of values in a log line (`log_format … escape=`).

use myriad_conf::model::LogEscape;
use myriad_script::ValueForm;

/// Appends a value, escaped so that it cannot end its line nor, except with `none`, the quotes around it.
pub fn write_escaped(escape: LogEscape, value: &[u8], out: &mut Vec<u8>) {
    Escaped(escape).append(value, out);
}

/// Values of a log, escaped so that they cannot end their line nor, except with `none`, the quotes around them.
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
    fn mend(&self, out: &mut Vec<u8>, from: usize) {
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
    /// Whether the value is to be written as it is.
    fn is_plain(&self, value: &[u8]) -> bool {
        match self.0 {
            LogEscape::None => true,
            LogEscape::Default => !any(value, is_escaped_by_default),
            LogEscape::Json => !any(value, is_escaped_in_json),
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

/// Whether a byte of a value is like that: sixteen are looked at at once, without a branch. Where their number cannot be divided, the
/// last ones are looked at together with those before them, a second time.
fn any(value: &[u8], is: fn(u8) -> bool) -> bool {
    let is_one = |bytes: &[u8; 16]| bytes.iter().fold(false, |found, &byte| found | is(byte));
    if let Some(last) = value.last_chunk::<16>() {
        return is_one(last) || value.as_chunks().0.iter().any(is_one);
    }
    let mut padded = [b' '; 16];
    if let (Some(first), Some(last)) = (value.first_chunk::<8>(), value.last_chunk::<8>()) {
        padded[..8].copy_from_slice(first);
        padded[8..].copy_from_slice(last);
    } else if let (Some(first), Some(last)) = (value.first_chunk::<4>(), value.last_chunk::<4>()) {
        padded[..4].copy_from_slice(first);
        padded[4..8].copy_from_slice(last);
    } else {
        padded.iter_mut().zip(value).for_each(|(to, from)| *to = *from);
    }
    is_one(&padded)
}

fn is_escaped_by_default(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..=31 | 127..=255)
}

fn is_escaped_in_json(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..=31)
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

fn write_json(value: &[u8], out: &mut Vec<u8>) {
    for &byte in value {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            0..=31 => out.extend_from_slice(&[b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte & 15)]),
            _ => out.push(byte),
        }
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
        for seed in 0..2000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let value: String = (0..random.usize(..20))
                .map(|_| {
                    if random.bool() {
                        char::from(random.u8(..128))
                    } else {
                        random.char('\0'..='\u{10ffff}')
                    }
                })
                .collect();
            let shown = written(LogEscape::Json, value.as_bytes());
            let read: String = serde_json::from_str(&format!("\"{shown}\"")).expect("a string of JSON");
            assert_eq!(read, value, "seed {seed}");
        }
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
    fn a_value_that_is_mended_is_as_if_it_had_been_appended() {
        for escape in ALL {
            for value in [&b""[..], b"plain", b"a\"b", b"\n", b"a longer one that ends with a tab\t"] {
                let mut out = b"before\n ".to_vec();
                out.extend_from_slice(value);
                Escaped(escape).mend(&mut out, 8);
                let mut wanted = b"before\n ".to_vec();
                write_escaped(escape, value, &mut wanted);
                assert_eq!(out, wanted);
            }
        }
    }
}
