//! User name and password of a request: `Authorization: Basic` (RFC 7617), `Proxy-Authorization: Basic` for CONNECT.

use myriad_http::Known;

use myriad_exchange::exchange::Request;
use zeroize::Zeroizing;

/// User name and password as sent by the client, not verified. The memory is overwritten on drop.
pub(super) struct Credentials {
    decoded: Zeroizing<Vec<u8>>,
    colon: usize,
}

impl Credentials {
    /// Returns the credentials of a request; `None` if it has none, they cannot be decoded, or the user name is empty.
    pub(super) fn of(request: &Request) -> Option<Self> {
        // RFC 9110 section 11.7.2: a CONNECT request uses `Proxy-Authorization`.
        let field = if request.is_connect() { Known::ProxyAuthorization } else { Known::Authorization };
        let value = request.received.head.known(field)?;
        let (scheme, encoded) = value.split_at_checked(6)?;
        if !scheme.eq_ignore_ascii_case(b"basic ") {
            return None;
        }
        let decoded = decode_base64(encoded.trim_ascii())?;
        // Credentials without a user name are ignored, as in nginx.
        let colon = decoded.iter().position(|byte| *byte == b':').filter(|colon| *colon > 0)?;
        Some(Self { decoded, colon })
    }

    /// Returns the user name.
    pub(super) fn user(&self) -> &[u8] {
        &self.decoded[..self.colon]
    }

    /// Returns the password.
    pub(super) fn password(&self) -> &[u8] {
        &self.decoded[self.colon + 1..]
    }
}

/// Decodes base64 like nginx: ignores everything after the first `=`, and trailing bits that do not form a byte.
/// Returns `None` for any other character and for an impossible length.
fn decode_base64(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut out = Zeroizing::new(Vec::with_capacity(text.len() / 4 * 3 + 3));
    let (mut bits, mut count) = (0u32, 0);
    let mut digits = 0;
    for byte in text.iter().take_while(|byte| **byte != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        digits += 1;
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    (digits % 4 != 1).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_strictly() {
        assert_eq!(**decode_base64(b"YTpi").unwrap(), *b"a:b");
        assert_eq!(**decode_base64(b"YTpiYw==").unwrap(), *b"a:bc");
        assert_eq!(**decode_base64(b"YTpiYw").unwrap(), *b"a:bc");
        assert_eq!(**decode_base64(b"").unwrap(), *b"");
        for broken in [&b"YTpi!"[..], b"YTpiY", b"YT pi", b"YT-i"] {
            assert!(decode_base64(broken).is_none());
        }
    }
}
