//! Files, types, error pages: what nginx's core, index and try_files modules know of a location.

use std::{collections::BTreeMap, sync::Arc};

use myriad_policy::IfModifiedSince;

use crate::{span::Span, text::Text};

/// `types`: file name extension (lower case, no dot) to media type.
pub type Types = BTreeMap<Vec<u8>, Vec<u8>>;

/// The last argument of `try_files`. `T` is what an URI is: the text, or what it was compiled to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TryFilesEnd<T = Text> {
    /// `=404`.
    Code(u16),
    /// `@name`: a named location; the text bears the `@`.
    Named(Text),
    /// An URI to redirect to internally.
    Uri(T),
}

impl<T> TryFilesEnd<T> {
    /// The same of a text that is made into something else.
    pub fn map<U>(&self, compile: impl FnOnce(&T) -> U) -> TryFilesEnd<U> {
        match self {
            Self::Code(code) => TryFilesEnd::Code(*code),
            Self::Named(name) => TryFilesEnd::Named(name.clone()),
            Self::Uri(uri) => TryFilesEnd::Uri(compile(uri)),
        }
    }
}

/// `try_files`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TryFiles {
    /// The names to try; a trailing `/` asks for a directory, a leading `@` for a named location.
    pub candidates: Vec<Text>,
    /// What happens when none is there.
    pub end: TryFilesEnd,
    /// Where it was written.
    pub span: Span,
}

/// The status that an [`ErrorPage`] sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorPageCode {
    /// The error's own.
    Keep,
    /// `=`: whatever the page's location answers.
    FromPage,
    /// `=200`.
    Fixed(u16),
}

/// One `error_page`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPage {
    /// The statuses it answers, 300 to 599.
    pub codes: Vec<u16>,
    /// The status that is sent.
    pub answer: ErrorPageCode,
    /// An URI, an URL or a named location (`@name`); may hold variables.
    pub target: Text,
}

/// `server_tokens`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServerTokens {
    /// The version is shown.
    #[default]
    On,
    /// The name only.
    Off,
    /// The version and the build's name.
    Build,
}

/// How files become answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentSettings {
    /// `subrequest_output_buffer_size`, bytes.
    pub subrequest_output_buffer_size: u64,
    /// `root`, or the target of `alias`; relative to the prefix.
    pub root: Text,
    /// Whether [`Self::root`] is an `alias`: it replaces the location's prefix instead of standing before the URI.
    pub alias: bool,
    /// Bytes of the prefix that the `alias` replaces: the pattern of the location that wrote it. `None` where there is
    /// no `alias`, or a regex location wrote it: then [`Self::root`] is the whole path.
    pub alias_prefix_len: Option<usize>,
    /// `index`: names to try in a directory.
    pub index: Vec<Text>,
    /// `try_files`; never inherited, as in nginx.
    pub try_files: Option<TryFiles>,
    /// `error_page`, in source order.
    pub error_pages: Vec<ErrorPage>,
    /// `recursive_error_pages`.
    pub recursive_error_pages: bool,
    /// `types`, shared between the levels that inherit them.
    pub types: Arc<Types>,
    /// `default_type`.
    pub default_type: Text,
    /// `internal`: only internal redirects reach it.
    pub internal: bool,
    /// `sendfile`.
    pub sendfile: bool,
    /// `sendfile_max_chunk`, bytes; 0 means no limit.
    pub sendfile_max_chunk: u64,
    /// `output_buffers`: how many and of how many bytes.
    pub output_buffers: super::LargeBuffers,
    /// `limit_rate`, bytes per second, may hold variables; `0` means no limit.
    pub limit_rate: Text,
    /// `limit_rate_after`, bytes, may hold variables.
    pub limit_rate_after: Text,
    /// `max_ranges`; `None` means no limit, 0 turns ranges off.
    pub max_ranges: Option<u64>,
    /// `etag`.
    pub etag: bool,
    /// `if_modified_since`.
    pub if_modified_since: IfModifiedSince,
    /// `server_tokens`.
    pub server_tokens: ServerTokens,
    /// `absolute_redirect`.
    pub absolute_redirect: bool,
    /// `port_in_redirect`.
    pub port_in_redirect: bool,
    /// `server_name_in_redirect`.
    pub server_name_in_redirect: bool,
    /// `msie_padding`.
    pub msie_padding: bool,
    /// `msie_refresh`.
    pub msie_refresh: bool,
}
