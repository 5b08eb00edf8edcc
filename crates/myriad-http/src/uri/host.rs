//! Hosts, validated as nginx's `ngx_http_validate_host` does.

use std::borrow::Cow;

use super::UriError;

/// A valid host: name or address in lower case without a trailing dot, IPv6 in its brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host<'a> {
    /// The name; borrowed where it was in lower case already.
    pub name: Cow<'a, [u8]>,
    /// The port, where one was given.
    pub port: Option<u16>,
}

/// Reads `host[:port]` of a `Host` field or an absolute-form target (RFC 9110 §7.2, RFC 3986 §3.2.2).
pub fn parse_host(value: &[u8]) -> Result<Host<'_>, UriError> {
    let (name, port) = split_port(value)?;
    if name.first() != Some(&b'[') && name.windows(2).any(|pair| pair == b"..") {
        return Err(UriError::InvalidHost);
    }
    let name = match name {
        [literal @ .., b'.'] => literal,
        whole => whole,
    };
    if name.is_empty() {
        return Err(UriError::InvalidHost);
    }
    let upper = name.iter().any(u8::is_ascii_uppercase);
    let name = if upper { Cow::Owned(name.to_ascii_lowercase()) } else { Cow::Borrowed(name) };
    Ok(Host { name, port: parse_port(port)? })
}

/// Name and port digits, with every byte of the name checked.
fn split_port(value: &[u8]) -> Result<(&[u8], &[u8]), UriError> {
    let end = if let [b'[', inside @ ..] = value {
        let close = inside.iter().position(|&byte| byte == b']').ok_or(UriError::InvalidHost)?;
        let inside = &inside[..close];
        let valid = inside.iter().all(|&byte| byte == b':' || (is_name_byte(byte) && byte != b'%'));
        if !valid || inside.windows(2).any(|pair| pair == b"..") {
            return Err(UriError::InvalidHost);
        }
        close + 2
    } else {
        value.iter().position(|&byte| !is_name_byte(byte)).unwrap_or(value.len())
    };
    match value.get(end) {
        None => Ok((value, &[])),
        Some(b':') => Ok((&value[..end], &value[end + 1..])),
        Some(_) => Err(UriError::InvalidHost),
    }
}

/// Letters, digits, the unreserved marks, the sub-delimiters and `%` (RFC 3986 §3.2.2, `reg-name`).
#[inline]
fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'%' | b'!' | b'$' | b'&' | b'\'')
        || matches!(byte, b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=')
}

/// Decimal digits up to 65535; none at all, as in `host:`, is no port.
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
