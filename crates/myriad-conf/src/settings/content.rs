//! Settings for static files, media types, error pages and redirects.

use std::{collections::BTreeMap, sync::Arc};

use myriad_policy::IfModifiedSince;

use crate::{span::Span, text::Text};

/// Media types of `types`, by file name extension in lower case, without dot.
pub type Types = BTreeMap<Vec<u8>, Vec<u8>>;

/// Last argument of `try_files`. `T` is the type of the URI: text, or its compiled form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TryFilesEnd<T = Text> {
    /// `=404`: respond with this status.
    Code(u16),
    /// `@name`: a named location; the text includes the `@`.
    Named(Text),
    /// URI for an internal redirect; may contain variables.
    Uri(T),
}

impl<T> TryFilesEnd<T> {
    /// Converts the URI by `compile`; a status or a named location is copied.
    pub fn map<U>(&self, compile: impl FnOnce(&T) -> U) -> TryFilesEnd<U> {
        match self {
            Self::Code(code) => TryFilesEnd::Code(*code),
            Self::Named(name) => TryFilesEnd::Named(name.clone()),
            Self::Uri(uri) => TryFilesEnd::Uri(compile(uri)),
        }
    }
}

/// `try_files`: files to try in order, and a fallback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TryFiles {
    /// Paths to try, which may contain variables. A trailing `/` means a directory.
    pub candidates: Vec<Text>,
    /// Fallback if no candidate exists.
    pub end: TryFilesEnd,
    /// Position of the directive.
    pub span: Span,
}

/// Status with which an [`ErrorPage`] is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorPageCode {
    /// No `=`: the status of the error that occurred.
    Keep,
    /// `=`: the status of the response from the page's location.
    FromPage,
    /// `=200`: this fixed status.
    Fixed(u16),
}

/// `error_page` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPage {
    /// Statuses of errors for which the page is sent, 300 to 599 except 499.
    pub codes: Vec<u16>,
    /// Status with which the page is sent.
    pub answer: ErrorPageCode,
    /// URI, URL or named location (`@name`) of the page; may contain variables.
    pub target: Text,
}

/// `server_tokens`: text of the `Server` response field and of error pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServerTokens {
    /// `on`: name and version.
    #[default]
    On,
    /// `off`: only the name.
    Off,
    /// `build`: same as `on`.
    Build,
}

/// Settings of a level for its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentSettings {
    /// `subrequest_output_buffer_size`: maximum size of a subrequest's response that is stored in a variable, in bytes.
    pub subrequest_output_buffer_size: u64,
    /// `root`, or the argument of `alias`; relative to the prefix; may contain variables.
    pub root: Text,
    /// True if [`Self::root`] is an `alias`, which replaces the prefix of the location instead of being prepended to
    /// the URI.
    pub alias: bool,
    /// Length in bytes of the prefix that `alias` replaces: the pattern of the location that contains the directive.
    /// `None` without `alias`, or in a regex location, where [`Self::root`] is the whole path.
    pub alias_prefix_len: Option<usize>,
    /// `index`: files to try in a directory, in order.
    pub index: Vec<Text>,
    /// `try_files`: files to try in order, and a fallback; `None` if not set. Locations and `if` do not inherit it, as
    /// in nginx.
    pub try_files: Option<TryFiles>,
    /// `error_page` directives, in source order.
    pub error_pages: Vec<ErrorPage>,
    /// `recursive_error_pages`: true if an error page may itself have an error page.
    pub recursive_error_pages: bool,
    /// `types`: media types by file name extension, shared between levels that inherit them.
    pub types: Arc<Types>,
    /// `default_type`: media type of files without a known extension.
    pub default_type: Text,
    /// `internal`: true if the location is only reachable by internal redirects.
    pub internal: bool,
    /// `sendfile`: value as written; without effect.
    pub sendfile: bool,
    /// `sendfile_max_chunk`: size in bytes as written; without effect.
    pub sendfile_max_chunk: u64,
    /// `output_buffers`: number and size as written; without effect.
    pub output_buffers: super::LargeBuffers,
    /// `limit_rate`: maximum rate of a response in bytes per second, may contain variables; `0` for no limit.
    pub limit_rate: Text,
    /// `limit_rate_after`: number of bytes that are sent before `limit_rate` applies; may contain variables.
    pub limit_rate_after: Text,
    /// `max_ranges`: maximum number of ranges in a request; `None` for no limit, 0 disables ranges.
    pub max_ranges: Option<u64>,
    /// `etag`: true if files are sent with `ETag`.
    pub etag: bool,
    /// `if_modified_since`: comparison of `If-Modified-Since` with the modification time of the file.
    pub if_modified_since: IfModifiedSince,
    /// `server_tokens`: data about the server in responses.
    pub server_tokens: ServerTokens,
    /// `absolute_redirect`: true if redirects to a path contain an absolute URL.
    pub absolute_redirect: bool,
    /// `port_in_redirect`: true if absolute redirects contain the port, unless it is the default of the scheme.
    pub port_in_redirect: bool,
    /// `server_name_in_redirect`: true if absolute redirects contain the first server name, if there is one, instead of
    /// the requested host.
    pub server_name_in_redirect: bool,
    /// `msie_padding`: true if short error pages are padded for MSIE and Chrome.
    pub msie_padding: bool,
    /// `msie_refresh`: true if MSIE receives refreshes instead of redirects.
    pub msie_refresh: bool,
}
