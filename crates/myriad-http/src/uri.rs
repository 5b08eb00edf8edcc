//! Request targets: split, decoded, normalised and escaped as nginx does it.

mod escape;
mod host;
mod lookup;
mod normalize;

pub use escape::{Escape, escape, unescape};
pub use host::{Host, parse_host};
pub use lookup::{arg, cookie};
pub use normalize::normalize_path;

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
pub fn split_target(_target: &[u8]) -> Result<Target<'_>, UriError> {
    Err(UriError::InvalidTarget)
}
