//! Purge commands, independent of their source: a request, the command line, or a response of an application.

use super::{Subject, Tags, Wildcard};

/// Purge command. It contains no zones; the code that runs it selects them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Pages to purge.
    pub what: What,
    /// True for a soft purge: pages remain, but expire immediately, and the next request refreshes them.
    pub soft: bool,
}

/// Pages that a purge covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A URL with both schemes, and with all variants and encodings.
    Url {
        /// Host without port, in lower case.
        host: Box<[u8]>,
        /// Path and query. With a query, only this URL is covered; without a query, the path with any query and
        /// without.
        target: Box<[u8]>,
    },
    /// URLs that match a pattern with `*`.
    Wildcard(Wildcard),
    /// URLs whose path and query match a regex.
    Regex {
        /// Host; `None` for all hosts.
        host: Option<Box<[u8]>>,
        /// PCRE pattern.
        pattern: Box<str>,
    },
    /// Pages with one of these tags.
    Tags(Tags),
    /// Pages with a tag that matches the regex.
    TagRegex(Box<str>),
    /// Pages stored under one of these keys.
    Keys(Vec<Box<[u8]>>),
    /// Pages whose key starts with these bytes.
    KeyPrefix(Box<[u8]>),
    /// All pages of a host.
    Host(Box<[u8]>),
    /// All pages.
    All,
}

impl Command {
    /// Creates a purge that removes pages.
    pub fn hard(what: What) -> Command {
        Command { what, soft: false }
    }
}

impl What {
    /// Maximum length of a pattern, in bytes.
    pub const LONGEST_PATTERN: usize = 4096;

    /// Parses the URL `http://host[:port]/path?query`, with or without scheme. Returns `None` if it has no host or no
    /// path.
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

    /// Parses a pattern with `*`. If it contains no host, `host` applies.
    ///
    /// # Errors
    /// Returns an error for a pattern longer than 4096 bytes.
    pub fn wildcard(pattern: &[u8], host: &[u8]) -> Result<What, &'static str> {
        bounded(pattern)?;
        Ok(What::Wildcard(Wildcard::parse(pattern, host)))
    }

    /// Creates a purge by a regex over the URLs of a host, or of all hosts.
    ///
    /// # Errors
    /// Returns an error for a pattern that is not UTF-8, or longer than 4096 bytes.
    pub fn regex(host: Option<&[u8]>, pattern: &[u8]) -> Result<What, &'static str> {
        Ok(What::Regex { host: host.map(Into::into), pattern: text(pattern)? })
    }

    /// Creates a purge by a regex over tags.
    ///
    /// # Errors
    /// Same as [`Self::regex`].
    pub fn tag_regex(pattern: &[u8]) -> Result<What, &'static str> {
        Ok(What::TagRegex(text(pattern)?))
    }

    /// Returns the labels of the URL. Every request for the URL has them, even before a response exists.
    pub fn addresses(&self) -> Vec<u64> {
        match self {
            What::Url { host, target } => vec![Subject::new(b"", host, target).wanted_label()],
            _ => Vec::new(),
        }
    }

    /// Returns the labels of the tags.
    pub fn labels(&self) -> Vec<u64> {
        match self {
            What::Tags(tags) => tags.names().map(Tags::label).chain([Tags::OVERFLOWN]).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns whether labels and keys find all covered pages. Otherwise every page must be checked.
    pub fn is_exact(&self) -> bool {
        matches!(self, What::Url { .. } | What::Tags(_) | What::Keys(_))
    }

    /// Returns the name of the kind for responses and logs.
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

/// Writes the purge as one line for logs, with all other bytes escaped.
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
