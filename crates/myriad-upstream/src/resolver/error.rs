//! Why a name could not be resolved.

use std::fmt;

/// Why a name has no address, in nginx's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolveError {
    /// The text is no name.
    NoName,
    /// Too many look-ups are under way.
    Busy,
    /// No server has answered in time.
    TimedOut,
    /// A server has refused (RFC 1035's RCODE).
    Code(u8),
}

impl ResolveError {
    /// Whether a server has said that there is no such name.
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
