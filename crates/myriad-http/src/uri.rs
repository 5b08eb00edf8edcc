//! Request targets: split, decoded, normalised and escaped as nginx does it.

mod escape;
mod host;
mod lookup;
mod normalize;
mod scheme;

pub use escape::{Escape, escape, unescape};
pub use host::{Host, parse_host};
pub use lookup::{arg, cookie};
pub use normalize::normalize_path;
pub use scheme::behind_scheme;

/// A target or host that cannot be taken apart; the answer is 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UriError {
    /// Not one of the forms of RFC 9112 §3.2.
    InvalidTarget,
    /// A `%` without two hexadecimal digits after it.
    InvalidEscape,
    /// A NUL byte, plain or as `%00`.
    Nul,
    /// The path climbs above the root with `..`.
    AboveRoot,
    /// The host is empty or holds a byte that no host has (RFC 3986 §3.2.2).
    InvalidHost,
    /// The port is not a number from 0 to 65535.
    InvalidPort,
}

impl UriError {
    /// The status to answer: 400 for every kind.
    pub fn status(self) -> u16 {
        400
    }
}

/// A request target, taken apart and otherwise as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// The scheme of an absolute-form target, as sent.
    pub scheme: Option<&'a [u8]>,
    /// Host and port of an absolute-form target.
    pub authority: Option<&'a [u8]>,
    /// The path, still escaped, without query and fragment; `/` where an absolute form has none, `*` for `OPTIONS *`.
    pub path: &'a [u8],
    /// What follows the first `?`, without the fragment: nginx's `$args`.
    pub query: Option<&'a [u8]>,
}

/// Takes a target of origin-form, absolute-form or `*` apart (RFC 9112 §3.2).
///
/// An absolute-form authority is not looked into: [`parse_host`] judges it. User information is refused, as nginx
/// does (RFC 9110 §4.2.4).
pub fn split_target(target: &[u8]) -> Result<Target<'_>, UriError> {
    if target.first() == Some(&b'/') {
        let (path, query) = split_path(target);
        return Ok(Target { scheme: None, authority: None, path, query });
    }
    if target == b"*" {
        return Ok(Target { scheme: None, authority: None, path: target, query: None });
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
    Ok(Target { scheme: Some(scheme), authority: Some(authority), path, query })
}

fn is_scheme_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// The path and what follows its `?`; a fragment, which no client may send, is cut off as nginx does.
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
