//! Request targets: splitting, decoding, normalization and escaping, as in nginx.

mod escape;
mod host;
mod lookup;
mod normalize;
mod scheme;

pub use escape::{EscapeKind, escape, escape_target, unescape};
pub use host::{UriHost, parse_host};
pub use lookup::{arg, cookie};
pub use normalize::normalize_path;
pub use scheme::after_scheme;

/// Reason why a request target or host is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UriError {
    /// The target has none of origin-form, absolute-form and asterisk-form (RFC 9112 §3.2), or contains user
    /// information; or a path to normalize does not start with `/`.
    InvalidTarget,
    /// A `%` is not followed by two hexadecimal digits.
    InvalidEscape,
    /// The path contains a NUL byte, as is or as `%00`.
    Nul,
    /// The path leaves the root by `..`, as in `/../a`.
    AboveRoot,
    /// The host is empty, or contains an invalid byte, an unclosed bracket or two consecutive dots (RFC 3986 §3.2.2).
    InvalidHost,
    /// The port is not a number from 0 to 65535.
    InvalidPort,
}

impl UriError {
    /// Returns the status of the error response: always 400.
    pub fn status(self) -> u16 {
        400
    }
}

/// Parts of a request target, not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTarget<'a> {
    /// Scheme of an absolute-form target; otherwise `None`.
    pub scheme: Option<&'a [u8]>,
    /// Host and port of an absolute-form target; otherwise `None`.
    pub authority: Option<&'a [u8]>,
    /// Path without query and fragment; `/` if an absolute-form target has no path, `*` for `OPTIONS *`.
    pub path: &'a [u8],
    /// Text after the first `?`, without the fragment: nginx's `$args`. `None` without `?` or if the first `?` is in
    /// the fragment.
    pub query: Option<&'a [u8]>,
}

/// Splits a target in origin-form, absolute-form or asterisk-form (RFC 9112 §3.2).
///
/// The authority must not be empty, but is not validated otherwise; use [`parse_host`]. As in nginx, user information
/// is rejected (RFC 9110 §4.2.4).
pub fn split_target(target: &[u8]) -> Result<RequestTarget<'_>, UriError> {
    if target.first() == Some(&b'/') {
        let (path, query) = split_path(target);
        return Ok(RequestTarget { scheme: None, authority: None, path, query });
    }
    if target == b"*" {
        return Ok(RequestTarget { scheme: None, authority: None, path: target, query: None });
    }
    let scheme_len = target.iter().take_while(|&&byte| is_scheme_byte(byte)).count();
    let (scheme, rest) = target.split_at(scheme_len);
    if !scheme.first().is_some_and(u8::is_ascii_alphabetic) {
        return Err(UriError::InvalidTarget);
    }
    let rest = rest.strip_prefix(b"://").ok_or(UriError::InvalidTarget)?;
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#')).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    if authority.is_empty() || authority.contains(&b'@') {
        return Err(UriError::InvalidTarget);
    }
    let (path, query) = split_path(rest);
    let path: &[u8] = if path.is_empty() { b"/" } else { path };
    Ok(RequestTarget { scheme: Some(scheme), authority: Some(authority), path, query })
}

fn is_scheme_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// Splits a path from the text after its first `?`, which is `None` without `?`. As in nginx, a fragment, which clients
/// must not send, is dropped.
fn split_path(rest: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr2(b'?', b'#', rest) {
        None => (rest, None),
        Some(at) if rest[at] == b'#' => (&rest[..at], None),
        Some(at) => {
            let query = &rest[at + 1..];
            let end = memchr::memchr(b'#', query).unwrap_or(query.len());
            (&rest[..at], Some(&query[..end]))
        }
    }
}

#[cfg(test)]
mod tests;
