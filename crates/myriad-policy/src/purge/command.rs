//! Purge commands, independent of their source: a request, the command line, or an application's response.

use super::{PurgeSubject, Tags, Wildcard};

/// Purge command: pages to purge, and how. The code that runs it selects the cache zones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeCommand {
    /// Pages to purge.
    pub what: PurgeTarget,
    /// True for a soft purge: pages remain, but expire immediately, and the next request refreshes them.
    pub soft: bool,
}

/// Pages that a purge covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PurgeTarget {
    /// A URL, over both schemes, with all variants and encodings.
    Url {
        /// Host without port, in lower case.
        host: Box<[u8]>,
        /// Path and query. With a query, only this URL is covered; without, the path with any query or none.
        target: Box<[u8]>,
    },
    /// URLs that match a pattern with `*`.
    Wildcard(Wildcard),
    /// URLs whose path and query match a regex.
    Regex {
        /// Host in which the URLs are purged; `None` for all hosts.
        host: Option<Box<[u8]>>,
        /// PCRE pattern that the path and query must match.
        pattern: Box<str>,
    },
    /// Pages with at least one of these tags.
    Tags(Tags),
    /// Pages with a tag that matches the PCRE pattern.
    TagRegex(Box<str>),
    /// Pages stored under one of these cache keys.
    Keys(Vec<Box<[u8]>>),
    /// Pages whose cache key starts with these bytes.
    KeyPrefix(Box<[u8]>),
    /// All pages of a host.
    Host(Box<[u8]>),
    /// All pages.
    All,
}

impl PurgeCommand {
    /// Creates a purge that removes pages, as opposed to a soft purge.
    pub fn hard(what: PurgeTarget) -> PurgeCommand {
        PurgeCommand { what, soft: false }
    }
}

impl PurgeTarget {
    /// Maximum length of a pattern (wildcard, regex, prefix of cache keys) in a purge, in bytes.
    pub const LONGEST_PATTERN: usize = 4096;

    /// Creates a purge of the URL `http://host[:port]/path?query`, with or without scheme. The port and fragment are
    /// dropped, and a missing path is `/`. Returns `None` without a host.
    pub fn url(url: &[u8]) -> Option<PurgeTarget> {
        let scheme_end = memchr::memmem::find(url, b"://")
            .filter(|at| url[..*at].iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)));
        let rest = scheme_end.map_or(url, |at| &url[at + 3..]);
        let rest = &rest[..memchr::memchr(b'#', rest).unwrap_or(rest.len())];
        let at = memchr::memchr2(b'/', b'?', rest).unwrap_or(rest.len());
        let (host, target) = rest.split_at(at);
        let host = without_port(host);
        let target = match target.first() {
            Some(b'/') => target.to_vec(),
            _ => [b"/", target].concat(),
        };
        (!host.is_empty())
            .then(|| PurgeTarget::Url { host: host.to_ascii_lowercase().into(), target: target.into() })
    }

    /// Creates a purge of the URLs that match a pattern with `*`. `host` is used if the pattern contains no host.
    ///
    /// # Errors
    /// Returns an error for a pattern longer than 4096 bytes.
    pub fn wildcard(pattern: &[u8], host: &[u8]) -> Result<PurgeTarget, &'static str> {
        check_length(pattern)?;
        Ok(PurgeTarget::Wildcard(Wildcard::parse(pattern, host)))
    }

    /// Creates a purge of the URLs that match a regex, on one host or on all (`None`).
    ///
    /// # Errors
    /// Returns an error for a pattern that is not UTF-8, or longer than 4096 bytes.
    pub fn regex(host: Option<&[u8]>, pattern: &[u8]) -> Result<PurgeTarget, &'static str> {
        Ok(PurgeTarget::Regex { host: host.map(Into::into), pattern: text(pattern)? })
    }

    /// Creates a purge of pages with a tag that matches a regex.
    ///
    /// # Errors
    /// Returns an error for a pattern that is not UTF-8, or longer than 4096 bytes.
    pub fn tag_regex(pattern: &[u8]) -> Result<PurgeTarget, &'static str> {
        Ok(PurgeTarget::TagRegex(text(pattern)?))
    }

    /// Returns the label (hash) of a [`Url`](Self::Url) target; empty for other targets. Pages that are still being
    /// fetched, which have no tags yet, are found by it.
    pub fn addresses(&self) -> Vec<u64> {
        match self {
            PurgeTarget::Url { host, target } => vec![PurgeSubject::new(b"", host, target).label_to_purge()],
            _ => Vec::new(),
        }
    }

    /// Returns the labels (hashes) of the tags of a [`Tags`](Self::Tags) target, including [`Tags::OVERFLOWN`]; empty
    /// for other targets.
    pub fn labels(&self) -> Vec<u64> {
        match self {
            PurgeTarget::Tags(tags) => tags.names().map(Tags::label).chain([Tags::OVERFLOWN]).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns whether all covered pages are found by labels (hashes) or cache keys. Otherwise every page must be
    /// checked.
    pub fn is_exact(&self) -> bool {
        matches!(self, PurgeTarget::Url { .. } | PurgeTarget::Tags(_) | PurgeTarget::Keys(_))
    }

    /// Returns a word for the kind of purge target, for responses and logs.
    pub fn kind(&self) -> &'static str {
        match self {
            PurgeTarget::Url { .. } => "url",
            PurgeTarget::Wildcard(_) => "wildcard",
            PurgeTarget::Regex { .. } => "regex",
            PurgeTarget::Tags(_) | PurgeTarget::TagRegex(_) => "tags",
            PurgeTarget::Keys(_) | PurgeTarget::KeyPrefix(_) => "key",
            PurgeTarget::Host(_) | PurgeTarget::All => "all",
        }
    }
}

/// Writes the purge target as one line for logs, with non-printable bytes escaped.
impl std::fmt::Display for PurgeTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PurgeTarget::Url { host, target } => {
                write!(f, "{}{}", host.escape_ascii(), target.escape_ascii())
            }
            PurgeTarget::Wildcard(wildcard) => wildcard.fmt(f),
            PurgeTarget::Regex { host: None, pattern } => write!(f, "~ {}", pattern.escape_debug()),
            PurgeTarget::Regex { host: Some(host), pattern } => {
                write!(f, "{} ~ {}", host.escape_ascii(), pattern.escape_debug())
            }
            PurgeTarget::Tags(tags) => {
                f.write_str("tags")?;
                tags.names().try_for_each(|name| write!(f, " {}", name.escape_ascii()))
            }
            PurgeTarget::TagRegex(pattern) => write!(f, "tags ~ {}", pattern.escape_debug()),
            PurgeTarget::Keys(keys) => {
                f.write_str("key")?;
                keys.iter().try_for_each(|key| write!(f, " {}", key.escape_ascii()))
            }
            PurgeTarget::KeyPrefix(prefix) => write!(f, "key {}*", prefix.escape_ascii()),
            PurgeTarget::Host(host) => write!(f, "{}/*", host.escape_ascii()),
            PurgeTarget::All => f.write_str("*"),
        }
    }
}

fn without_port(host: &[u8]) -> &[u8] {
    match memchr::memrchr(b':', host) {
        Some(at) if host[at + 1..].iter().all(u8::is_ascii_digit) => &host[..at],
        _ => host,
    }
}

fn check_length(pattern: &[u8]) -> Result<(), &'static str> {
    if pattern.len() > PurgeTarget::LONGEST_PATTERN {
        Err("the pattern is longer than 4096 bytes")
    } else {
        Ok(())
    }
}

fn text(pattern: &[u8]) -> Result<Box<str>, &'static str> {
    check_length(pattern)?;
    std::str::from_utf8(pattern).map(Into::into).map_err(|_| "the pattern is not UTF-8")
}
