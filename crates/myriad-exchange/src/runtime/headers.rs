//! Header fields that a location adds to responses.

use std::sync::Arc;

use myriad_script::Template;

/// Settings of `cache_debug` and `cache_status`: response fields about the decisions of the cache.
#[derive(PartialEq)]
pub struct DebugRules {
    /// `cache_debug on`: true if responses get header fields about the decisions of the cache.
    pub debug: bool,
    /// Name of this cache in `Cache-Status`; empty if `cache_status` is off.
    pub status: Box<str>,
    /// `hits=off`: responses from the cache get no `Cache-Status`.
    pub without_hits: bool,
    /// Networks of clients that may see cache keys, zones and the origin's explanations in responses; `None` means the
    /// local machine.
    pub from: Option<Vec<super::Network>>,
    /// True if an `add_header` of the location sets `X-Cache`.
    pub has_x_cache: bool,
}

/// Name of this server, and header lines common to all its responses.
#[derive(PartialEq)]
pub struct ServerLines {
    /// Complete `Server` line, with CRLF.
    pub server_line: Box<[u8]>,
    /// Complete `Alt-Svc` line for TLS clients; empty without HTTP/3, or if the configuration sets the field.
    pub alt_svc: Box<[u8]>,
    /// Name of this server on built-in error pages.
    pub server_name: Box<str>,
    /// Complete `Strict-Transport-Security` line of `https_only`; `None` without `https_only`, or with `hsts=off`.
    pub hsts_line: Option<Box<[u8]>>,
}

/// Header fields that a location adds to responses.
#[derive(PartialEq)]
pub struct HeaderRules {
    /// Header lines common to the locations of a server.
    pub own: Arc<ServerLines>,
    /// `add_header`: fields to add, in the order of the configuration.
    pub add: Box<[AddField]>,
    /// Fields that an `add_header` replaces (`Last-Modified`, `ETag`), in lower case. The flag is set for `always`.
    pub replaced: Box<[(&'static [u8], bool)]>,
    /// `cache_debug` and `cache_status`; `None` if both are off.
    pub debug: Option<Box<DebugRules>>,
    /// `add_trailer`: trailer fields to add.
    pub trailers: Box<[AddField]>,
    /// `expires`: freshness lifetime of responses in browsers.
    pub expires: super::ExpiresRule<Template>,
    /// True if an `add_header` sets `Cache-Control`, `Expires` or `Age`: the freshness lifetime in such a field starts
    /// when the response is sent.
    pub sets_freshness: bool,
}

/// One `add_header` or `add_trailer` directive.
#[derive(PartialEq)]
pub struct AddField {
    /// Name of the field.
    pub name: Box<[u8]>,
    /// Value of the field; if it evaluates to an empty text, the field is not added.
    pub value: Template,
    /// `always`: the field is added to responses of any status.
    pub always: bool,
    /// `Some` if a later directive with the same field name replaces this directive: `Some(true)` for every response,
    /// `Some(false)` only for responses that get fields without `always`.
    pub superseded: Option<bool>,
}

impl AddField {
    /// Returns true if the field is added to a response. `decorated` is true if the response's status permits fields
    /// without `always`.
    pub fn is_added(&self, decorated: bool) -> bool {
        (decorated || self.always) && !self.superseded.is_some_and(|always| decorated || always)
    }
}
