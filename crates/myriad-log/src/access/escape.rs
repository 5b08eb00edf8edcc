//! How a value is written into a log line (`log_format … escape=`).

/// `escape=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escaping {
    /// `default`: `"`, `\`, controls and bytes above 126 as `\xXX`.
    Default,
    /// `json`: what JSON strings need.
    Json,
    /// `none`.
    None,
}

impl Escaping {
    /// Appends a value.
    pub fn write(self, value: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::None => out.extend_from_slice(value),
            Self::Default => write_default(value, out),
            Self::Json => write_json(value, out),
        }
    }

    /// What stands for a value that does not exist.
    pub fn missing(self) -> &'static [u8] {
        if self == Self::Default { b"-" } else { b"" }
    }
}

fn write_default(value: &[u8], out: &mut Vec<u8>) {
    for &byte in value {
        if matches!(byte, b'"' | b'\\' | 0..=31 | 127..=255) {
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

    fn written(escaping: Escaping, value: &[u8]) -> String {
        let mut out = Vec::new();
        escaping.write(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_client_cannot_forge_a_line_or_close_a_quote() {
        assert_eq!(written(Escaping::Default, b"a\"b\\c\n\x7f\xc3"), "a\\x22b\\x5Cc\\x0A\\x7F\\xC3");
        assert_eq!(written(Escaping::Json, b"a\"b\\c\n\x01\t"), "a\\\"b\\\\c\\n\\u0001\\t");
        assert_eq!(written(Escaping::None, b"\""), "\"");
    }
}
