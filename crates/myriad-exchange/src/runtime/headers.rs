//! Fields added to the head of a response.

use std::sync::Arc;

use myriad_script::Template;

/// `cache_debug on`, `cache_status on`.
#[derive(PartialEq)]
pub struct DebugRules {
    /// `cache_debug`.
    pub debug: bool,
    /// Name of this cache in `Cache-Status`; empty if the field is not sent.
    pub status: Box<str>,
    /// True if responses from the cache get no `Cache-Status` (`hits=off`).
    pub without_hits: bool,
    /// Networks that may see cache keys; if `None`, the local machine.
    pub from: Option<Vec<super::Network>>,
    /// True if an `add_header` of the place sets `X-Cache`.
    pub has_x_cache: bool,
}

/// Name of this server, and lines common to all its responses.
#[derive(PartialEq)]
pub struct ServerLines {
    /// Complete `Server` line.
    pub server_line: Box<[u8]>,
    /// Complete `Alt-Svc` line for TLS clients; empty without HTTP/3 or if the configuration sets the field.
    pub alt_svc: Box<[u8]>,
    /// Name shown on error pages.
    pub server_name: Box<str>,
    /// Complete `Strict-Transport-Security` line of `https_only`.
    pub hsts_line: Option<Box<[u8]>>,
}

/// Fields added to a response.
#[derive(PartialEq)]
pub struct HeaderRules {
    /// Lines common to the places of a server.
    pub own: Arc<ServerLines>,
    /// `add_header`.
    pub add: Box<[AddField]>,
    /// Fields replaced by an `add_header` (`Last-Modified`, `ETag`), in lower case; the flag is set for `always`.
    pub replaced: Box<[(&'static [u8], bool)]>,
    /// `cache_debug` and `cache_status`; `None` if both are off.
    pub debug: Option<Box<DebugRules>>,
    /// `add_trailer`.
    pub trailers: Box<[AddField]>,
    /// `expires`.
    pub expires: super::ExpiresRule<Template>,
    /// True if an `add_header` sets the freshness lifetime of a response, counted from the time it is sent.
    pub sets_freshness: bool,
}

/// Single `add_header` directive.
#[derive(PartialEq)]
pub struct AddField {
    /// Name.
    pub name: Box<[u8]>,
    /// Value; if it evaluates to an empty text, no field is added.
    pub value: Template,
    /// `always`.
    pub always: bool,
    /// Set if a later directive with the same name replaces this one: `Some(true)` always, `Some(false)` only for
    /// responses to which fields without `always` are added.
    pub superseded: Option<bool>,
}

impl AddField {
    /// Returns whether the field is added to a response; `decorated` is true if fields without `always` are added to
    /// it.
    pub fn is_added(&self, decorated: bool) -> bool {
        (decorated || self.always) && !self.superseded.is_some_and(|always| decorated || always)
    }
}
