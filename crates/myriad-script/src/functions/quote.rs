//! Quoting of texts as strings of SQL and JSON.

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends a text as a string literal of MySQL (`set_quote_sql_str`).
pub fn sql(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for &byte in text {
        match sql_letter(byte) {
            Some(letter) => out.extend_from_slice(&[b'\\', letter]),
            None => out.push(byte),
        }
    }
    out.push(b'\'');
}

/// Appends a text as a string literal of PostgreSQL, `E'…'` (`''` for an empty text; `set_quote_pgsql_str`). If the
/// text is not UTF-8, non-ASCII bytes are written in octal after two backslashes, as in a `bytea` literal.
pub fn pgsql(text: &[u8], out: &mut Vec<u8>) {
    if text.is_empty() {
        return out.extend_from_slice(b"''");
    }
    out.push(b'E');
    if std::str::from_utf8(text).is_ok() {
        return sql(text, out);
    }
    let mut quoted = Vec::new();
    sql(text, &mut quoted);
    for byte in quoted {
        if byte.is_ascii() {
            out.push(byte);
        } else {
            let digit = |shift: u8| b'0' + (byte >> shift & 7);
            out.extend_from_slice(&[b'\\', b'\\', digit(6), digit(3), digit(0)]);
        }
    }
}

/// Appends a text as a JSON string (RFC 8259 section 7), or `null` for an empty text (`set_quote_json_str`).
pub fn json(text: &[u8], out: &mut Vec<u8>) {
    if text.is_empty() {
        return out.extend_from_slice(b"null");
    }
    out.push(b'"');
    for &byte in text {
        match byte {
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            b'\\' | b'"' => out.extend_from_slice(&[b'\\', byte]),
            0..0x20 => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            }
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// Returns the character that follows the backslash for a byte that must be escaped; `None` for other bytes.
fn sql_letter(byte: u8) -> Option<u8> {
    match byte {
        0 => Some(b'0'),
        8 => Some(b'b'),
        b'\n' => Some(b'n'),
        b'\r' => Some(b'r'),
        b'\t' => Some(b't'),
        26 => Some(b'Z'),
        b'\\' | b'\'' | b'"' => Some(byte),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(quote: fn(&[u8], &mut Vec<u8>), text: &[u8]) -> String {
        let mut out = Vec::new();
        quote(text, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn nothing_in_a_string_of_sql_ends_it() {
        assert_eq!(quoted(sql, b"hello\n\r'\"\\"), r#"'hello\n\r\'\"\\'"#);
        assert_eq!(quoted(sql, b""), "''");
        assert_eq!(quoted(sql, b"a\0b\x08\t\x1a"), r"'a\0b\b\t\Z'");
    }

    #[test]
    fn strings_of_postgresql_are_utf_8_or_octal() {
        assert_eq!(quoted(pgsql, b""), "''");
        assert_eq!(quoted(pgsql, b"hello\n\r'\"\\"), r#"E'hello\n\r\'\"\\'"#);
        assert_eq!(quoted(pgsql, "你好".as_bytes()), "E'你好'");
        assert_eq!(quoted(pgsql, b"\xc4\xe3'\xba\xc3"), r"E'\\304\\343\'\\272\\303'");
    }

    #[test]
    fn strings_of_json_hold_no_control_byte() {
        assert_eq!(quoted(json, b""), "null");
        assert_eq!(quoted(json, b"hello\n\r'\"\\"), r#""hello\n\r'\"\\""#);
        assert_eq!(quoted(json, b"\x01\x1f\x08\x0c\t"), r#""\u0001\u001f\b\f\t""#);
        assert_eq!(quoted(json, "你".as_bytes()), "\"你\"");
    }

    #[test]
    fn quotes_within_a_string_are_all_escaped() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..2000 {
            let text: Vec<u8> =
                (0..random.usize(..20)).map(|_| random.choice(*b"a'\"\\\n\0\xff").unwrap()).collect();
            for (quote, mark) in [(sql as fn(&[u8], &mut Vec<u8>), b'\''), (pgsql, b'\''), (json, b'"')] {
                let mut out = Vec::new();
                quote(&text, &mut out);
                let Some(start) = out.iter().position(|byte| *byte == mark) else { continue };
                let within = &out[start + 1..out.len() - 1];
                let mut escaped = false;
                for byte in within {
                    assert!(escaped || *byte != mark, "{}", out.escape_ascii());
                    escaped = !escaped && *byte == b'\\';
                }
                assert!(!escaped, "{}", out.escape_ascii());
            }
        }
    }
}
