//! A purge, in whichever way it was asked for: by a request, the command line, an application's answer.

use super::{Subject, Tags, Wildcard};

/// A purge. It names no zones: the caller knows which of them it may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Which pages.
    pub what: What,
    /// Whether it is soft: pages stay, stale from now on, and the next visitor has them refreshed.
    pub soft: bool,
}

/// Which pages a purge covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A URL over both schemes, with all variants and encodings.
    Url {
        /// Its host, without a port, lower case.
        host: Box<[u8]>,
        /// Its path and query: with a query that URL alone, without one the path with any query and none.
        target: Box<[u8]>,
    },
    /// URLs by a pattern with `*`.
    Wildcard(Wildcard),
    /// URLs in whose path and query a regex matches.
    Regex {
        /// On this host; none: on all.
        host: Option<Box<[u8]>>,
        /// The pattern, PCRE.
        pattern: Box<str>,
    },
    /// Pages that bear one of these tags.
    Tags(Tags),
    /// Pages that bear a tag in which the regex matches.
    TagRegex(Box<str>),
    /// Pages stored under one of these keys.
    Keys(Vec<Box<[u8]>>),
    /// Pages whose key begins so.
    KeyPrefix(Box<[u8]>),
    /// All pages of a host.
    Host(Box<[u8]>),
    /// All pages.
    All,
}

impl Command {
    /// A purge that takes pages out.
    pub fn hard(what: What) -> Command {
        Command { what, soft: false }
    }
}

impl What {
    /// Bytes of the longest pattern.
    pub const LONGEST_PATTERN: usize = 4096;

    /// The URL `http://host[:port]/path?query`, also without scheme; none where it has no host or no path.
    pub fn url(url: &[u8]) -> Option<What> {
        let rest = memchr::memmem::find(url, b"://").map_or(url, |at| &url[at + 3..]);
        let rest = &rest[..memchr::memchr(b'#', rest).unwrap_or(rest.len())];
        let at = memchr::memchr2(b'/', b'?', rest).unwrap_or(rest.len());
        let (host, target) = rest.split_at(at);
        let host = without_port(host);
        let target = match target.first() {
            Some(b'/') => target.to_vec(),
            _ => [b"/", target].concat(),
        };
        (!host.is_empty())
            .then(|| What::Url { host: host.to_ascii_lowercase().into(), target: target.into() })
    }

    /// A pattern with `*`, on this host where it names none.
    ///
    /// # Errors
    /// A pattern that is longer than 4096 bytes.
    pub fn wildcard(pattern: &[u8], host: &[u8]) -> Result<What, &'static str> {
        bounded(pattern)?;
        Ok(What::Wildcard(Wildcard::parse(pattern, host)))
    }

    /// A regex over the URLs of a host, or of all.
    ///
    /// # Errors
    /// A pattern that is no UTF-8, or longer than 4096 bytes.
    pub fn regex(host: Option<&[u8]>, pattern: &[u8]) -> Result<What, &'static str> {
        Ok(What::Regex { host: host.map(Into::into), pattern: text(pattern)? })
    }

    /// A regex over tags.
    ///
    /// # Errors
    /// As [`Self::regex`].
    pub fn tag_regex(pattern: &[u8]) -> Result<What, &'static str> {
        Ok(What::TagRegex(text(pattern)?))
    }

    /// The labels of the URL; every request for it tells them before there is an answer.
    pub fn addresses(&self) -> Vec<u64> {
        match self {
            What::Url { host, target } => vec![Subject::new(b"", host, target).wanted_label()],
            _ => Vec::new(),
        }
    }

    /// The labels of the tags.
    pub fn labels(&self) -> Vec<u64> {
        match self {
            What::Tags(tags) => tags.names().map(Tags::label).chain([Tags::OVERFLOWN]).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether labels and keys find all that is covered; else each page must be asked.
    pub fn is_exact(&self) -> bool {
        matches!(self, What::Url { .. } | What::Tags(_) | What::Keys(_))
    }

    /// The word for it in answers and logs.
    pub fn kind(&self) -> &'static str {
        match self {
            What::Url { .. } => "url",
            What::Wildcard(_) => "wildcard",
            What::Regex { .. } => "regex",
            What::Tags(_) | What::TagRegex(_) => "tags",
            What::Keys(_) | What::KeyPrefix(_) => "key",
            What::Host(_) | What::All => "all",
        }
    }
}

/// The purge for logs: one line, whatever bytes were sent.
impl std::fmt::Display for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            What::Url { host, target } => write!(f, "{}{}", host.escape_ascii(), target.escape_ascii()),
            What::Wildcard(wildcard) => wildcard.fmt(f),
            What::Regex { host: None, pattern } => write!(f, "~ {}", pattern.escape_debug()),
            What::Regex { host: Some(host), pattern } => {
                write!(f, "{} ~ {}", host.escape_ascii(), pattern.escape_debug())
            }
            What::Tags(tags) => {
                f.write_str("tags")?;
                tags.names().try_for_each(|name| write!(f, " {}", name.escape_ascii()))
            }
            What::TagRegex(pattern) => write!(f, "tags ~ {}", pattern.escape_debug()),
            What::Keys(keys) => {
                f.write_str("key")?;
                keys.iter().try_for_each(|key| write!(f, " {}", key.escape_ascii()))
            }
            What::KeyPrefix(prefix) => write!(f, "key {}*", prefix.escape_ascii()),
            What::Host(host) => write!(f, "{}/*", host.escape_ascii()),
            What::All => f.write_str("*"),
        }
    }
}

fn without_port(host: &[u8]) -> &[u8] {
    match memchr::memrchr(b':', host) {
        Some(at) if host[at + 1..].iter().all(u8::is_ascii_digit) => &host[..at],
        _ => host,
    }
}

fn bounded(pattern: &[u8]) -> Result<(), &'static str> {
    if pattern.len() > What::LONGEST_PATTERN { Err("the pattern is longer than 4096 bytes") } else { Ok(()) }
}

fn text(pattern: &[u8]) -> Result<Box<str>, &'static str> {
    bounded(pattern)?;
    std::str::from_utf8(pattern).map(Into::into).map_err(|_| "the pattern is not UTF-8")
}
