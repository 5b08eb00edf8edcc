//! Errors of the resolution of a host name (`resolver`).

use std::fmt;

/// Reason why a name could not be resolved; displayed with nginx's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolveError {
    /// The text is not a valid name.
    NoName,
    /// Too many names are being looked up.
    Busy,
    /// No name server has responded in time.
    TimedOut,
    /// A name server has returned an error (RCODE of RFC 1035), or a name has no addresses or service records (3).
    Code(u8),
}

impl ResolveError {
    /// Returns whether the name does not exist or has no addresses.
    pub(crate) fn is_absence(self) -> bool {
        self == Self::Code(3)
    }
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoName => f.write_str("no host name"),
            Self::Busy => f.write_str("too many names are being resolved"),
            Self::TimedOut => f.write_str("110: Operation timed out"),
            Self::Code(2) => f.write_str("2: Server failure"),
            Self::Code(3) => f.write_str("3: Host not found"),
            Self::Code(4) => f.write_str("4: Unimplemented"),
            Self::Code(code) => write!(f, "{code}: Operation refused"),
        }
    }
}

impl std::error::Error for ResolveError {}
