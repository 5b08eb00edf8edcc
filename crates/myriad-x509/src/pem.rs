//! PEM (RFC 7468).

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// Characters in a line, as OpenSSL writes it.
const LINE: usize = 64;

/// A certificate as text, with a line end behind its last line.
pub(crate) fn write(der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let mut out = String::with_capacity(text.len() + text.len() / LINE + 64);
    out.push_str("-----BEGIN CERTIFICATE-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, next) = rest.split_at(rest.len().min(LINE));
        out.push_str(line);
        out.push('\n');
        rest = next;
    }
    out.push_str("-----END CERTIFICATE-----\n");
    out
}
