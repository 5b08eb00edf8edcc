//! Purges of pages by URL, wildcard, regex, tag or cache key, and of all pages of a host or zone.
//!
//! Except in purges by cache key, pages are identified by the scheme, host, path and query of the request
//! ([`PurgeSubject`]). URLs and tags, which are purged often, have *labels*: hashes by which a store finds all their
//! pages. Plugins use the purge protocols of other caches; [`parse_purge`] and [`litespeed`](fn@litespeed) convert them
//! to [`PurgeCommand`]s.

mod command;
mod label;
mod litespeed;
mod record;
mod request;
mod tags;
mod wildcard;

use std::borrow::Cow;

pub use command::{PurgeCommand, PurgeTarget};
use label::label;
pub use litespeed::litespeed;
pub use request::{is_forwarded, parse_purge};
pub use tags::Tags;
pub use wildcard::Wildcard;

/// URL for which a page was fetched, as requested by the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PurgeSubject<'a> {
    /// `http` or `https`.
    pub scheme: &'a [u8],
    /// Host without port, in lower case.
    pub host: &'a [u8],
    /// Path as sent, not decoded.
    pub path: &'a [u8],
    /// Query: the bytes after the first `?`, if any.
    pub query: Option<&'a [u8]>,
}

impl<'a> PurgeSubject<'a> {
    /// Creates the subject from a request target in origin form, `/path?query` (RFC 9112 §3.2.1).
    pub fn new(scheme: &'a [u8], host: &'a [u8], target: &'a [u8]) -> PurgeSubject<'a> {
        let (path, query) = match memchr::memchr(b'?', target) {
            Some(at) => (&target[..at], Some(&target[at + 1..])),
            None => (target, None),
        };
        PurgeSubject { scheme, host, path, query }
    }

    /// Returns the label (hash by which purges find pages) of all URLs with this host and path, whatever their query.
    /// It is the same for `http` and `https`, because an application that purges over a local `http` connection also
    /// means its `https` pages.
    pub fn path_label(&self) -> u64 {
        label(b'p', &[self.host, b"\0", &normal_path(self.path)])
    }

    /// Returns the label (hash by which purges find pages) of the URL with its query; `None` if the query is missing or
    /// empty.
    pub fn query_label(&self) -> Option<u64> {
        let query = self.query.filter(|query| !query.is_empty())?;
        Some(label(b'u', &[self.host, b"\0", &normal_path(self.path), b"\0", query]))
    }

    /// Returns the two labels (hashes) by which purges find a page of this URL: that of its path, and that of the URL
    /// with its query (without a query, that of the path again).
    pub fn address(&self) -> [u64; 2] {
        [self.path_label(), self.label_to_purge()]
    }

    /// Returns the label (hash of the pages) for a purge of this URL: [`query_label`](Self::query_label), or without a
    /// query [`path_label`](Self::path_label), which covers all queries.
    pub fn label_to_purge(&self) -> u64 {
        self.query_label().unwrap_or_else(|| self.path_label())
    }
}

/// Normalizes a path like for location matching (decoded, dots resolved, slashes merged): for an application,
/// `/caf%c3%a9/`, `/caf%C3%A9/` and `//caf%C3%A9/` are the same page. A path that cannot be normalized is returned
/// unchanged.
pub(crate) fn normal_path(path: &[u8]) -> Cow<'_, [u8]> {
    let mut normal = Vec::new();
    match myriad_http::uri::normalize_path(path, true, &mut normal) {
        Ok(()) if normal != path => Cow::Owned(normal),
        _ => Cow::Borrowed(path),
    }
}

#[cfg(test)]
mod tests;
