//! Escaping of values in a log line (`log_format … escape=`).

use myriad_conf::model::LogEscape;

/// Appends a value, escaped so that it cannot end its line nor, except with `none`, the quotes around it.
pub fn write_escaped(escape: LogEscape, value: &[u8], out: &mut Vec<u8>) {
    match escape {
        LogEscape::None => out.extend_from_slice(value),
        LogEscape::Default => write_default(value, out),
        LogEscape::Json => write_json(value, out),
    }
}

/// Text for a value that does not exist.
pub(super) fn missing(escape: LogEscape) -> &'static [u8] {
    if escape == LogEscape::Default { b"-" } else { b"" }
}

/// Whether a byte of a value is like that. Each is looked at, without a branch: so the compiler takes sixteen at once.
fn any(value: &[u8], is: impl Fn(u8) -> bool) -> bool {
    value.iter().fold(false, |found, &byte| found | is(byte))
}

fn is_escaped_by_default(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..=31 | 127..=255)
}

fn write_default(value: &[u8], out: &mut Vec<u8>) {
    if !any(value, is_escaped_by_default) {
        return out.extend_from_slice(value);
    }
    for &byte in value {
        if is_escaped_by_default(byte) {
            out.extend_from_slice(&[b'\\', b'x', hex(byte >> 4), hex(byte & 15)]);
        } else {
            out.push(byte);
        }
    }
}

fn write_json(value: &[u8], out: &mut Vec<u8>) {
    if !any(value, |byte| matches!(byte, b'"' | b'\\' | 0..=31)) {
        return out.extend_from_slice(value);
    }
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
        for escape in [LogEscape::Default, LogEscape::Json, LogEscape::None] {
            write_escaped(escape, b"", &mut out);
            write_escaped(escape, b"a", &mut out);
        }
        assert_eq!(out, b"before aaa");
    }

    #[test]
    fn only_the_default_shows_what_does_not_exist() {
        assert_eq!(
            [LogEscape::Default, LogEscape::Json, LogEscape::None].map(missing),
            [&b"-"[..], b"", b""]
        );
    }
}
