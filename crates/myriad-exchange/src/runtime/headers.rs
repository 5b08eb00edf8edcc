//! What is added to the head of an answer.

use std::sync::Arc;

use myriad_script::Template;

/// `cache_debug on`, `cache_status on`.
#[derive(PartialEq)]
pub struct DebugRules {
    /// `cache_debug`.
    pub debug: bool,
    /// The name of this cache in `Cache-Status`; empty where there is no such field.
    pub status: Box<str>,
    /// That field says nothing of what came from the cache (`hits=off`).
    pub without_hits: bool,
    /// Who may see keys; none written: who is near.
    pub from: Option<Vec<super::Network>>,
    /// An `add_header` of the place is called `X-Cache`.
    pub said_already: bool,
}

/// How this server calls itself, and what goes with each of its answers.
#[derive(PartialEq)]
pub struct ServerLines {
    /// The whole `Server` line.
    pub server_line: Box<[u8]>,
    /// The whole `Alt-Svc` line for clients that come by TLS; empty where HTTP/3 is not spoken or the line is written by
    /// hand.
    pub alt_svc: Box<[u8]>,
    /// The name shown on error pages.
    pub server_name: Box<str>,
    /// What `https_only` has browsers remember: the whole `Strict-Transport-Security` line.
    pub hsts_line: Option<Box<[u8]>>,
}

/// What is added to an answer's fields.
#[derive(PartialEq)]
pub struct HeaderRules {
    /// What a server's places have in common.
    pub own: Arc<ServerLines>,
    /// `add_header`.
    pub add: Box<[AddField]>,
    /// Fields that an `add_header` takes the place of (`Last-Modified`, `ETag`), lower case; the flag says `always`.
    pub replaced: Box<[(&'static [u8], bool)]>,
    /// `cache_debug` and `cache_status`; none where both are off.
    pub debug: Option<Box<DebugRules>>,
    /// `add_trailer`.
    pub trailers: Box<[AddField]>,
    /// `expires`.
    pub expires: super::Expires<Template>,
    /// Whether an `add_header` says for how long an answer is fresh: from when it is sent.
    pub says_freshness: bool,
}

/// One `add_header`.
#[derive(PartialEq)]
pub struct AddField {
    /// The name.
    pub name: Box<[u8]>,
    /// The value; nothing is added where it comes out empty.
    pub value: Template,
    /// `always`.
    pub always: bool,
    /// Whether a later one of the same name takes its place: where that one is added at all, or (true) everywhere.
    pub superseded: Option<bool>,
}

impl AddField {
    /// Whether it is added to an answer; `decorated` says that plain ones are.
    pub fn is_added(&self, decorated: bool) -> bool {
        (decorated || self.always) && !self.superseded.is_some_and(|always| decorated || always)
    }
}
