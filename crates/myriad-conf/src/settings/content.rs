//! Files, types, error pages: settings of nginx's core, index and `try_files` modules.

use std::{collections::BTreeMap, sync::Arc};

use myriad_policy::IfModifiedSince;

use crate::{span::Span, text::Text};

/// `types`: file name extension (lower case, without dot) to media type.
pub type Types = BTreeMap<Vec<u8>, Vec<u8>>;

/// Last argument of `try_files`. `T` is the type of the URI: text, or its compiled form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TryFilesEnd<T = Text> {
    /// `=404`.
    Code(u16),
    /// `@name`: a named location; the text includes the `@`.
    Named(Text),
    /// URI for an internal redirect.
    Uri(T),
}

impl<T> TryFilesEnd<T> {
    /// Converts the URI with `compile`.
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
    /// Names to try. A trailing `/` means a directory, a leading `@` a named location.
    pub candidates: Vec<Text>,
    /// Action if no candidate exists.
    pub end: TryFilesEnd,
    /// Position of the directive.
    pub span: Span,
}

/// Status that an [`ErrorPage`] sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorPageCode {
    /// The status of the error.
    Keep,
    /// `=`: the status of the response from the page's location.
    FromPage,
    /// `=200`.
    Fixed(u16),
}

/// `error_page` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPage {
    /// Statuses that the page applies to, 300 to 599.
    pub codes: Vec<u16>,
    /// Status that is sent.
    pub answer: ErrorPageCode,
    /// URI, URL or named location (`@name`); may contain variables.
    pub target: Text,
}

/// `server_tokens`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServerTokens {
    /// The version is sent.
    #[default]
    On,
    /// Only the name is sent.
    Off,
    /// The version and the name of the build are sent.
    Build,
}

/// Settings for serving files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentSettings {
    /// `subrequest_output_buffer_size`, bytes.
    pub subrequest_output_buffer_size: u64,
    /// `root`, or the target of `alias`; relative to the prefix.
    pub root: Text,
    /// True if [`Self::root`] is an `alias`: it replaces the prefix of the location instead of being prepended to the
    /// URI.
    pub alias: bool,
    /// Length in bytes of the prefix that `alias` replaces: the pattern of the location that contains the directive.
    /// `None` without `alias`, or if the directive is in a regex location: then [`Self::root`] is the whole path.
    pub alias_prefix_len: Option<usize>,
    /// `index`: names to try in a directory.
    pub index: Vec<Text>,
    /// `try_files`; not inherited, as in nginx.
    pub try_files: Option<TryFiles>,
    /// `error_page`, in source order.
    pub error_pages: Vec<ErrorPage>,
    /// `recursive_error_pages`.
    pub recursive_error_pages: bool,
    /// `types`, shared between levels that inherit them.
    pub types: Arc<Types>,
    /// `default_type`.
    pub default_type: Text,
    /// `internal`: the location is only reachable by internal redirects.
    pub internal: bool,
    /// `sendfile`.
    pub sendfile: bool,
    /// `sendfile_max_chunk`, bytes; 0 means no limit.
    pub sendfile_max_chunk: u64,
    /// `output_buffers`: number and size.
    pub output_buffers: super::LargeBuffers,
    /// `limit_rate`, in bytes per second, may contain variables; `0` means no limit.
    pub limit_rate: Text,
    /// `limit_rate_after`, in bytes, may contain variables.
    pub limit_rate_after: Text,
    /// `max_ranges`; `None` means no limit, 0 disables ranges.
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
