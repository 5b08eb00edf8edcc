//! Escape functions of nginx's rewrite module (`NGX_ESCAPE_ARGS`, `NGX_UNESCAPE_REDIRECT`), and one for header values
//! that nginx does not have.

const UPPER_HEX: &[u8; 16] = b"0123456789ABCDEF";

fn push_escaped(byte: u8, out: &mut Vec<u8>) {
    out.push(b'%');
    out.push(UPPER_HEX[usize::from(byte >> 4)]);
    out.push(UPPER_HEX[usize::from(byte & 15)]);
}

/// Appends `text`; escapes spaces, control characters, bytes above 0x7e, and the characters ``"#%&+;<>?\^`{|}``, which
/// include all that would terminate or split a value in a query string.
pub(crate) fn escape_args(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        let special = matches!(
            byte,
            0..=b' '
                | b'"'
                | b'#'
                | b'%'
                | b'&'
                | b'+'
                | b';'
                | b'<'
                | b'>'
                | b'?'
                | b'\\'
                | b'^'
                | b'`'
                | b'{'
                | b'|'
                | b'}'
                | 0x7f..=0xff
        );
        if special {
            push_escaped(byte, out);
        } else {
            out.push(byte);
        }
    }
}

/// Appends the target of a redirect to `out`. Before the first `?`, a `%xx` is decoded if its byte is in the range from
/// `&` to `~`; a decoded `?` counts as the first `?`. Other escapes, and everything after the `?`, are copied
/// unchanged.
pub(crate) fn unescape_redirect(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        match byte {
            b'?' => {
                out.extend_from_slice(rest);
                return;
            }
            b'%' => {
                let Some(decoded) = hex_pair(after) else {
                    out.push(b'%');
                    rest = after;
                    continue;
                };
                if decoded == b'?' {
                    // As in nginx, a decoded question mark starts the arguments, which are copied unchanged.
                    out.push(b'?');
                    out.extend_from_slice(&after[2..]);
                    return;
                }
                if decoded > b'%' && decoded < 0x7f {
                    out.push(decoded);
                } else {
                    out.extend_from_slice(&rest[..3]);
                }
                rest = &after[2..];
            }
            _ => {
                out.push(byte);
                rest = after;
            }
        }
    }
}

fn hex_pair(text: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(*text.first()?)? * 16 + digit(*text.get(1)?)?) as u8)
}

/// Escapes control characters, which could terminate a header line: a redirect with a decoded URI cannot split the
/// response.
///
/// nginx does not do this; there, `return 301 https://$host$uri` is a known vulnerability.
pub(crate) fn escape_controls(text: &mut Vec<u8>) {
    if !text.iter().any(u8::is_ascii_control) {
        return;
    }
    let mut escaped = Vec::with_capacity(text.len() + 16);
    for &byte in text.iter() {
        if byte.is_ascii_control() {
            push_escaped(byte, &mut escaped);
        } else {
            escaped.push(byte);
        }
    }
    *text = escaped;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unescaped(text: &str) -> String {
        let mut out = Vec::new();
        unescape_redirect(text.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn arguments_escape_what_would_split_them() {
        let mut out = Vec::new();
        escape_args(b"a b&c=d%+;?\xc3\xa9/~", &mut out);
        assert_eq!(out, b"a%20b%26c=d%25%2B%3B%3F%C3%A9/~");
    }

    #[test]
    fn redirects_unescape_only_harmless_characters() {
        assert_eq!(unescaped("/a%2Fb%7e"), "/a/b~");
        assert_eq!(unescaped("/a%20b%0d%0A%25%c3%A9%7f"), "/a%20b%0d%0A%25%c3%A9%7f");
        assert_eq!(unescaped("/a?x=%2F"), "/a?x=%2F");
        assert_eq!(unescaped("/a%3Fx=%2F"), "/a?x=%2F");
        assert_eq!(unescaped("/100%"), "/100%");
        assert_eq!(unescaped("/%zz%4"), "/%zz%4");
    }

    #[test]
    fn controls_never_reach_a_header() {
        let mut text = b"http://x/\r\nSet-Cookie: a=b".to_vec();
        escape_controls(&mut text);
        assert_eq!(text, b"http://x/%0D%0ASet-Cookie: a=b");
    }
}
