//! What a purge is of: a URL, a wildcard, tags, everything of a host; and what of all that covers a stored page.
//!
//! Pages are told by the scheme, host, path and query that they were fetched for ([`Subject`]), never by the key that a
//! configuration makes of these. What is asked for often (a URL, a tag) is a *label*: a hash by which a store can find
//! all that bear it. Plugins ask in the ways that other caches taught them ([`wanted`]).

mod request;
mod tags;
mod wildcard;

use xxhash_rust::xxh3::Xxh3Default;

pub use request::{Wanted, is_forwarded, is_soft, wanted};
pub use tags::{OVERFLOWN, Tags, tag_label};
pub use wildcard::Wildcard;

/// What a page was fetched for, as the visitor sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject<'a> {
    /// `http` or `https`.
    pub scheme: &'a [u8],
    /// The host without its port, lower case.
    pub host: &'a [u8],
    /// The path, as it was sent.
    pub path: &'a [u8],
    /// What follows the first `?`, if there is one.
    pub query: Option<&'a [u8]>,
}

impl<'a> Subject<'a> {
    /// The subject of a request target in origin form (RFC 9112 §3.2.1).
    pub fn new(scheme: &'a [u8], host: &'a [u8], target: &'a [u8]) -> Subject<'a> {
        let (path, query) = match memchr::memchr(b'?', target) {
            Some(at) => (&target[..at], Some(&target[at + 1..])),
            None => (target, None),
        };
        Subject { scheme, host, path, query }
    }

    /// The label of the URL. Both schemes share it: an application that purges over a local `http` means its `https`
    /// pages too. An empty query is no query.
    pub fn label(&self) -> u64 {
        let query = self.query.filter(|query| !query.is_empty());
        hash(b'u', &[self.host, b"\0", self.path, b"\0", query.unwrap_or_default()])
    }
}

/// Hashes parts that are told apart by the caller; `kind` keeps URLs and tags apart.
fn hash(kind: u8, parts: &[&[u8]]) -> u64 {
    let mut hasher = Xxh3Default::new();
    hasher.update(&[kind]);
    for part in parts {
        hasher.update(part);
    }
    hasher.digest()
}

#[cfg(test)]
mod tests;
