//! Sets of contexts, in which directives are allowed.

use std::{fmt, ops::BitOr};

/// Set of contexts: blocks in which a directive is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Contexts(u16);

impl Contexts {
    /// Main context: outside every block.
    pub const MAIN: Self = Self(1);
    /// The `events` block.
    pub const EVENTS: Self = Self(1 << 1);
    /// The `http` block.
    pub const HTTP: Self = Self(1 << 2);
    /// A `server` block in `http`.
    pub const SERVER: Self = Self(1 << 3);
    /// An `if` block in `server`.
    pub const SERVER_IF: Self = Self(1 << 4);
    /// A `location` block.
    pub const LOCATION: Self = Self(1 << 5);
    /// An `if` block in `location`.
    pub const LOCATION_IF: Self = Self(1 << 6);
    /// A `limit_except` block.
    pub const LIMIT_EXCEPT: Self = Self(1 << 7);
    /// An `upstream` block in `http`.
    pub const UPSTREAM: Self = Self(1 << 8);
    /// An `acme_issuer` block.
    pub const ACME_ISSUER: Self = Self(1 << 9);
    /// The `stream` block.
    pub const STREAM: Self = Self(1 << 10);
    /// A `server` block in `stream`.
    pub const STREAM_SERVER: Self = Self(1 << 11);
    /// An `upstream` block in `stream`.
    pub const STREAM_UPSTREAM: Self = Self(1 << 12);

    /// `http` and `server`.
    pub const HTTP_SERVER: Self = Self::HTTP.or(Self::SERVER);
    /// `http`, `server` and `location`.
    pub const HSL: Self = Self::HTTP_SERVER.or(Self::LOCATION);
    /// `http`, `server`, `location`, and `if` in `location`.
    pub const HSL_IF: Self = Self::HSL.or(Self::LOCATION_IF);
    /// `stream`, and `server` in `stream`.
    pub const STREAM_LEVELS: Self = Self::STREAM.or(Self::STREAM_SERVER);
    /// Contexts of the rewrite module's directives, such as `set` and `return`.
    pub const REWRITE: Self = Self::SERVER.or(Self::SERVER_IF).or(Self::LOCATION).or(Self::LOCATION_IF);

    const NAMES: [(Self, &'static str); 13] = [
        (Self::MAIN, "main"),
        (Self::EVENTS, "events"),
        (Self::HTTP, "http"),
        (Self::SERVER, "server"),
        (Self::SERVER_IF, "if in server"),
        (Self::LOCATION, "location"),
        (Self::LOCATION_IF, "if in location"),
        (Self::LIMIT_EXCEPT, "limit_except"),
        (Self::UPSTREAM, "upstream"),
        (Self::ACME_ISSUER, "acme_issuer"),
        (Self::STREAM, "stream"),
        (Self::STREAM_SERVER, "server in stream"),
        (Self::STREAM_UPSTREAM, "upstream in stream"),
    ];

    /// Iterates over all contexts, each as a set of one.
    pub fn each() -> impl Iterator<Item = Self> {
        Self::NAMES.into_iter().map(|(context, _)| context)
    }

    /// Returns the contexts of both sets together.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether every context of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Contexts {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.or(other)
    }
}

impl fmt::Display for Contexts {
    /// Writes the names of the contexts, separated by commas; `nowhere` for an empty set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names =
            Self::NAMES.iter().filter(|(context, _)| self.contains(*context)).map(|(_, name)| *name);
        f.write_str(names.next().unwrap_or("nowhere"))?;
        names.try_for_each(|name| write!(f, ", {name}"))
    }
}
