//! Percent-encoding, percent-decoding and HTML escaping.

/// Kind of escaping, as in nginx's `ngx_escape_uri` and `ngx_escape_html`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EscapeKind {
    /// Path: escapes control bytes, space, `"`, `%`, `#`, `?`, `<`, `>`, `\`, `^`, `` ` ``, `{`, `|`, `}` and all bytes
    /// above `~`.
    Uri,
    /// Path and query in which existing escapes and separators are retained: like `Uri`, but `%`, `#` and `?` are not
    /// escaped. nginx has no such kind.
    Target,
    /// Single query argument: like `Uri`, and additionally `&`, `+` and `;`.
    Args,
    /// Single component: all bytes except letters, digits, `-`, `.`, `_` and `~` (RFC 3986 §2.3).
    UriComponent,
    /// HTML text or attribute value: `<`, `>`, `&` and `"` become character references.
    Html,
}

/// Escapes the bytes of `text` that `kind` lists, and appends the result to `out`.
pub fn escape(text: &[u8], kind: EscapeKind, out: &mut Vec<u8>) {
    let mut plain = 0;
    for (at, &byte) in text.iter().enumerate() {
        if is_plain(byte, kind) {
            continue;
        }
        out.extend_from_slice(&text[plain..at]);
        plain = at + 1;
        match kind {
            EscapeKind::Html => out.extend_from_slice(reference(byte)),
            _ => out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]),
        }
    }
    out.extend_from_slice(&text[plain..]);
}

/// Escapes a path and query for a request line ([`EscapeKind::Target`]).
pub fn escape_target(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    escape(text.as_bytes(), EscapeKind::Target, &mut out);
    // All bytes outside ASCII are escaped.
    String::from_utf8_lossy(&out).into_owned()
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

#[inline]
fn is_plain(byte: u8, kind: EscapeKind) -> bool {
    let in_path = || {
        matches!(byte, 0x21..=0x7E)
            && !matches!(
                byte,
                b'"' | b'%' | b'#' | b'?' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}'
            )
    };
    match kind {
        EscapeKind::Uri => in_path(),
        EscapeKind::Target => in_path() || matches!(byte, b'%' | b'#' | b'?'),
        EscapeKind::Args => in_path() && !matches!(byte, b'&' | b'+' | b';'),
        EscapeKind::UriComponent => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~'),
        EscapeKind::Html => !matches!(byte, b'<' | b'>' | b'&' | b'"'),
    }
}

fn reference(byte: u8) -> &'static [u8] {
    match byte {
        b'<' => b"&lt;",
        b'>' => b"&gt;",
        b'&' => b"&amp;",
        _ => b"&quot;",
    }
}

/// Decodes each `%XX` in `text` and appends the result to `out`.
///
/// As in nginx, a `%` before a byte that is not a hexadecimal digit is dropped, and that byte is copied; a `%` with
/// only one digit is dropped together with the digit and the byte after it.
pub fn unescape(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(percent) = memchr::memchr(b'%', rest) {
        out.extend_from_slice(&rest[..percent]);
        rest = &rest[percent + 1..];
        let high = rest.first().copied().and_then(hex_digit);
        let low = rest.get(1).copied().and_then(hex_digit);
        rest = match (high, low) {
            (Some(high), Some(low)) => {
                out.push(high << 4 | low);
                &rest[2..]
            }
            (Some(_), None) => rest.get(2..).unwrap_or_default(),
            (None, _) => {
                out.extend(rest.first());
                rest.get(1..).unwrap_or_default()
            }
        };
    }
    out.extend_from_slice(rest);
}

/// Returns the value of a hexadecimal digit; `None` for other bytes.
#[inline]
pub(super) fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &[u8], kind: EscapeKind) -> String {
        let mut out = Vec::new();
        escape(text, kind, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn plain(kind: EscapeKind) -> String {
        (0..=255_u8).filter(|&byte| escaped(&[byte], kind).len() == 1).map(char::from).collect()
    }

    #[test]
    fn each_kind_leaves_exactly_its_own_bytes() {
        let alphanumeric =
            |text: String| -> String { text.chars().filter(|c| !c.is_ascii_alphanumeric()).collect() };
        assert_eq!(alphanumeric(plain(EscapeKind::Uri)), "!$&'()*+,-./:;=@[]_~");
        assert_eq!(alphanumeric(plain(EscapeKind::Target)), "!#$%&'()*+,-./:;=?@[]_~");
        assert_eq!(alphanumeric(plain(EscapeKind::Args)), "!$'()*,-./:=@[]_~");
        assert_eq!(alphanumeric(plain(EscapeKind::UriComponent)), "-._~");
        for kind in [EscapeKind::Uri, EscapeKind::Args, EscapeKind::UriComponent] {
            assert_eq!(plain(kind).chars().filter(char::is_ascii_alphanumeric).count(), 62);
        }
    }

    #[test]
    fn bytes_are_escaped_in_upper_case_hex() {
        assert_eq!(escaped("/a b/\u{e9}?x".as_bytes(), EscapeKind::Uri), "/a%20b/%C3%A9%3Fx");
        assert_eq!(escaped(b"a=1&b=2", EscapeKind::Args), "a=1%26b=2");
    }

    #[test]
    fn html_is_escaped_as_references() {
        assert_eq!(
            escaped(b"<a href=\"x\">&'</a>", EscapeKind::Html),
            "&lt;a href=&quot;x&quot;&gt;&amp;'&lt;/a&gt;"
        );
    }

    #[test]
    fn what_was_escaped_is_unescaped_to_itself() {
        let mut random = fastrand::Rng::with_seed(2);
        for _ in 0..2000 {
            let text: Vec<u8> = (0..random.usize(..30)).map(|_| random.u8(..)).collect();
            for kind in [EscapeKind::Uri, EscapeKind::Args, EscapeKind::UriComponent] {
                let mut back = Vec::new();
                unescape(escaped(&text, kind).as_bytes(), &mut back);
                assert_eq!(back, text);
            }
        }
    }

    #[test]
    fn broken_escapes_are_dropped_as_nginx_drops_them() {
        for (text, expected) in
            [("a%", "a"), ("a%4", "a"), ("%zz", "zz"), ("%4zb", "b"), ("%%41", "%41"), ("100%", "100")]
        {
            let mut out = Vec::new();
            unescape(text.as_bytes(), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{text}");
        }
    }
}
