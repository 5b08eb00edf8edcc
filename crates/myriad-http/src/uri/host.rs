//! Hosts of requests, validated as in nginx's `ngx_http_validate_host`.

use std::borrow::Cow;

use super::UriError;

/// Valid host of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriHost<'a> {
    /// Name or address in lower case, without a trailing dot; an IPv6 address has brackets. Borrowed if no letter had
    /// to be changed to lower case.
    pub name: Cow<'a, [u8]>,
    /// Port; `None` if it is missing or empty.
    pub port: Option<u16>,
}

/// Parses `host[:port]` in a `Host` field or an absolute-form target (RFC 9110 §7.2, RFC 3986 §3.2.2).
#[inline]
pub fn parse_host(value: &[u8]) -> Result<UriHost<'_>, UriError> {
    let (end, seen) = match value {
        [b'[', inside @ ..] => {
            let (len, seen) = count_class(inside, IN_LITERAL);
            if inside.get(len) != Some(&b']') {
                return Err(UriError::InvalidHost);
            }
            (len + 2, seen)
        }
        _ => count_class(value, IN_NAME),
    };
    let port = match value.get(end) {
        None => None,
        Some(b':') => parse_port(&value[end + 1..])?,
        Some(_) => return Err(UriError::InvalidHost),
    };
    let name = value[..end].strip_suffix(b".").unwrap_or(&value[..end]);
    if name.is_empty() || seen & DOUBLE_DOT != 0 {
        return Err(UriError::InvalidHost);
    }
    let name = if seen & UPPER != 0 { Cow::Owned(name.to_ascii_lowercase()) } else { Cow::Borrowed(name) };
    Ok(UriHost { name, port })
}

/// Class of bytes that are valid in a host name (RFC 3986 §3.2.2, `reg-name`).
const IN_NAME: u8 = 1;
/// Class of bytes that are valid between brackets in a host (RFC 3986 §3.2.2, `IP-literal`).
const IN_LITERAL: u8 = 2;
const UPPER: u8 = 4;
const DOT: u8 = 8;
/// Flag for a host that contains two consecutive dots; not a class of bytes.
const DOUBLE_DOT: u8 = 16;

static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    const MARKS: &[u8] = b"-._~!$&'()*+,;=";
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        if (byte as u8).is_ascii_alphanumeric() {
            class[byte] = IN_NAME | IN_LITERAL;
        }
        if (byte as u8).is_ascii_uppercase() {
            class[byte] |= UPPER;
        }
        byte += 1;
    }
    let mut mark = 0;
    while mark < MARKS.len() {
        class[MARKS[mark] as usize] = IN_NAME | IN_LITERAL;
        mark += 1;
    }
    class[b'%' as usize] = IN_NAME;
    class[b':' as usize] = IN_LITERAL;
    class[b'.' as usize] |= DOT;
    class
}

/// Returns the number of leading bytes that belong to the class `wanted`, and the union of the classes of these bytes.
#[inline]
fn count_class(text: &[u8], wanted: u8) -> (usize, u8) {
    let mut seen = 0;
    let mut before = 0;
    for (at, &byte) in text.iter().enumerate() {
        let class = CLASS[usize::from(byte)];
        if class & wanted == 0 {
            return (at, seen);
        }
        seen |= class | (class & before & DOT) << 1;
        before = class;
    }
    (text.len(), seen)
}

/// Parses a decimal port up to 65,535; `None` for an empty text, as in `host:`.
fn parse_port(digits: &[u8]) -> Result<Option<u16>, UriError> {
    if digits.is_empty() {
        return Ok(None);
    }
    let port = digits.iter().try_fold(0_u16, |port, digit| {
        let value = digit.is_ascii_digit().then(|| u16::from(digit - b'0'))?;
        port.checked_mul(10)?.checked_add(value)
    });
    port.map(Some).ok_or(UriError::InvalidPort)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(value: &str) -> Option<(String, Option<u16>)> {
        let host = parse_host(value.as_bytes()).ok()?;
        Some((String::from_utf8(host.name.into_owned()).unwrap(), host.port))
    }

    #[test]
    fn names_and_addresses_are_read_with_their_port() {
        for (value, name, port) in [
            ("example.com", "example.com", None),
            ("Example.COM:8080", "example.com", Some(8080)),
            ("example.com.", "example.com", None),
            ("example.com.:2", "example.com", Some(2)),
            ("example.com:", "example.com", None),
            ("192.0.2.1:987", "192.0.2.1", Some(987)),
            ("[2001:DB8::1]", "[2001:db8::1]", None),
            ("[::ffff:192.0.2.1]:4321", "[::ffff:192.0.2.1]", Some(4321)),
            ("[v1F.a!$&'()*+,;=-._~:]", "[v1f.a!$&'()*+,;=-._~:]", None),
            (".example.com", ".example.com", None),
            ("under_score.example", "under_score.example", None),
            ("xn--caf-dma.example:65535", "xn--caf-dma.example", Some(65535)),
        ] {
            assert_eq!(host(value), Some((name.to_owned(), port)), "{value}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for value in [
            "",
            ".",
            ":80",
            ".:80",
            "..a.com",
            "a..b",
            "a..",
            "a/b",
            "a\\b",
            "a b",
            "a\tb",
            "a\0b",
            "a\x7Fb",
            "a@b",
            "a?b",
            "a#b",
            "a\"b",
            "<a>",
            "a:b",
            "a:1.2",
            "a:98777",
            "a:123456",
            "a:80:80",
            "a:-1",
            "[::1",
            "::1]",
            "[::1].",
            "[::1]x",
            "[::1]..:9",
            "[a..b::1]",
            "[a/b]",
            "[a\\b]",
            "x[::1]",
            "[::1]:x",
            "a,b c",
            "a]",
            "\u{e9}.example",
            "[fe80::1%25eth0]",
        ] {
            assert_eq!(host(value), None, "{value:?}");
        }
    }

    #[test]
    fn a_name_in_lower_case_is_borrowed() {
        assert!(matches!(parse_host(b"example.com.:80").unwrap().name, Cow::Borrowed(b"example.com")));
    }
}
