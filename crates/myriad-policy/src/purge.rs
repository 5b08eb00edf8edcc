//! Purges: of a URL, a wildcard, tags, everything of a host; and whether one covers a stored page.
//!
//! Pages are told by the scheme, host, path and query that they were fetched for ([`Subject`]), never by the key that a
//! configuration makes of these. A URL or a tag, which is asked for often, is a *label*: a hash by which a store can find
//! all pages that bear it. Plugins ask in the ways of other caches ([`wanted`]); each way becomes a [`Command`].

mod command;
mod label;
mod litespeed;
mod record;
mod request;
mod tags;
mod wildcard;

use std::borrow::Cow;

pub use command::{Command, What};
use label::label;
pub use litespeed::litespeed;
pub use request::{is_forwarded, wanted};
pub use tags::Tags;
pub use wildcard::Wildcard;

/// The URL that a page was fetched for, as the visitor sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject<'a> {
    /// `http` or `https`.
    pub scheme: &'a [u8],
    /// The host without its port, lower case.
    pub host: &'a [u8],
    /// The path, as it was sent.
    pub path: &'a [u8],
    /// The query: all that follows the first `?`, if there is one.
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

    /// The label of the path, whatever its query. Both schemes share it: an application that purges over a local `http`
    /// means its `https` pages too.
    pub fn path_label(&self) -> u64 {
        label(b'p', &[self.host, b"\0", &normal_path(self.path)])
    }

    /// The label of the path with its query; none where there is no query, or an empty one.
    pub fn query_label(&self) -> Option<u64> {
        let query = self.query.filter(|query| !query.is_empty())?;
        Some(label(b'u', &[self.host, b"\0", &normal_path(self.path), b"\0", query]))
    }

    /// The labels that every page of this URL bears.
    pub fn address(&self) -> [u64; 2] {
        [self.path_label(), self.wanted_label()]
    }

    /// The label that finds what a purge of this URL covers: with a query that URL, without one the path with any query.
    pub fn wanted_label(&self) -> u64 {
        self.query_label().unwrap_or_else(|| self.path_label())
    }
}

/// A path as locations are matched against it (decoded, dots resolved, slashes merged): `/caf%c3%a9/`, `/caf%C3%A9/` and
/// `//caf%C3%A9/` are one page to an application. A path that cannot be normalised stays as it is.
pub(crate) fn normal_path(path: &[u8]) -> Cow<'_, [u8]> {
    let mut normal = Vec::new();
    match myriad_http::uri::normalize_path(path, true, &mut normal) {
        Ok(()) if normal != path => Cow::Owned(normal),
        _ => Cow::Borrowed(path),
    }
}

#[cfg(test)]
mod tests;
