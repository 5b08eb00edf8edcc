//! Patterns with `*` for the URLs of pages.

use std::fmt;

use super::{PurgeSubject, normal_path};

/// Pattern for scheme, host, path and query of a URL, in which `*` matches any bytes, including `/`.
///
/// | pattern | covers |
/// |---|---|
/// | `/news/*` | this path on the default host (that of the purge request) |
/// | `example.org/news/*` | this path on this host, over both schemes |
/// | `https://*.example.org/*` | all subdomains, only over this scheme |
/// | `/shop?color=*` | this path with a matching query; a pattern without a query covers all queries and none |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wildcard {
    pub(super) scheme: Option<Box<[u8]>>,
    pub(super) host: Box<[u8]>,
    pub(super) path: Box<[u8]>,
    pub(super) query: Option<Box<[u8]>>,
}

impl Wildcard {
    /// Parses a pattern. `host` is used if the pattern contains no host. A pattern without `/` is a host with all its
    /// pages.
    pub fn parse(text: &[u8], host: &[u8]) -> Wildcard {
        let (scheme, rest) = match memchr::memmem::find(text, b"://") {
            Some(at) if !text[..at].contains(&b'/') => {
                (Some(text[..at].to_ascii_lowercase()), &text[at + 3..])
            }
            _ => (None, text),
        };
        let (own_host, rest) = match memchr::memchr(b'/', rest) {
            Some(0) if scheme.is_none() => (host.to_ascii_lowercase(), rest),
            Some(at) => (rest[..at].to_ascii_lowercase(), &rest[at..]),
            // `*` covers everything; a host without a path covers all its pages.
            None => (rest.to_ascii_lowercase(), &b"*"[..]),
        };
        let subject = PurgeSubject::new(b"", b"", rest);
        Wildcard {
            scheme: scheme.filter(|scheme| scheme != b"*").map(Into::into),
            host: own_host.into(),
            path: subject.path.into(),
            query: subject.query.map(Into::into),
        }
    }

    /// Returns whether the pattern covers the page; paths are compared as sent and normalized.
    pub fn covers(&self, subject: &PurgeSubject<'_>) -> bool {
        self.scheme.as_deref().is_none_or(|scheme| matches(scheme, subject.scheme))
            && matches(&self.host, subject.host)
            && (matches(&self.path, subject.path)
                || matches(&normal_path(&self.path), &normal_path(subject.path)))
            && self.query.as_deref().is_none_or(|query| matches(query, subject.query.unwrap_or_default()))
    }
}

impl fmt::Display for Wildcard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = &self.scheme {
            write!(f, "{}://", scheme.escape_ascii())?;
        }
        write!(f, "{}{}", self.host.escape_ascii(), self.path.escape_ascii())?;
        self.query.as_ref().map_or(Ok(()), |query| write!(f, "?{}", query.escape_ascii()))
    }
}

/// Returns whether `pattern` matches all of `text`, where `*` matches any bytes. Takes at most `pattern × text` steps,
/// because a mismatch only backtracks to the last star.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(byte) if *byte == text[read] => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((star_at, taken)) = star else { return false };
                star = Some((star_at, taken + 1));
                at = star_at + 1;
                read = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}
