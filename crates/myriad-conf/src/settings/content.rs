//! Files, types, error pages: what nginx's core, index and try_files modules know of a location.

use std::{collections::BTreeMap, sync::Arc};

use crate::{span::Span, text::Text};

/// `types`: file name extension (lower case, no dot) to media type.
pub type Types = BTreeMap<Vec<u8>, Vec<u8>>;

/// The last argument of `try_files`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TryFilesEnd {
    /// `=404`.
    Code(u16),
    /// `@name`: a named location; the text bears the `@`.
    Named(Text),
    /// An URI to redirect to internally.
    Uri(Text),
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

/// `if_modified_since`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfModifiedSince {
    /// The field is ignored.
    Off,
    /// The times must be equal.
    #[default]
    Exact,
    /// The file may also be older.
    Before,
}

/// `server_tokens`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerTokens {
    /// The version is shown.
    On,
    /// The name only.
    Off,
    /// The version and the build's name.
    Build,
}

/// `open_file_cache`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFileCache {
    /// At most so many entries.
    pub max: u64,
    /// Dropped after so long without use, ms.
    pub inactive: u64,
}

/// `open_file_cache*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFileSettings {
    /// `open_file_cache`: `None` where not written; `Some(None)` for `off`.
    pub cache: Option<Option<OpenFileCache>>,
    /// `open_file_cache_valid`, ms.
    pub valid: u64,
    /// `open_file_cache_min_uses`.
    pub min_uses: u64,
    /// `open_file_cache_errors`.
    pub errors: bool,
}

impl Default for OpenFileSettings {
    fn default() -> Self {
        Self { cache: None, valid: 60_000, min_uses: 1, errors: false }
    }
}

/// `disable_symlinks on|if_not_owner [from=PART]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisableSymlinks {
    /// `if_not_owner`: only links whose owner is not that of what they lead to.
    pub foreign_only: bool,
    /// `from=`: the leading part of paths that is not checked, may hold variables; empty for none.
    pub from: Text,
}

/// How files become answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentSettings {
    /// `slice`, bytes; 0 for off.
    pub slice: u64,
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
    /// `charset`: what is added to media types; `None` for off. May hold variables.
    pub charset: Option<Text>,
    /// `source_charset`: what answers are in that name none; `None` where not written. May hold variables.
    pub source_charset: Option<Text>,
    /// `charset_types`, lower case: the media types it is added to; `*` alone means every type.
    pub charset_types: Vec<String>,
    /// `override_charset`: whether a charset that the origin names is replaced.
    pub override_charset: bool,
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
    /// `disable_symlinks`; `None` for off.
    pub disable_symlinks: Option<DisableSymlinks>,
    /// `msie_padding`.
    pub msie_padding: bool,
    /// `msie_refresh`.
    pub msie_refresh: bool,
}

/// nginx's default of `charset_types`, which always holds `text/html`.
const CHARSET_TYPES: [&str; 6] = [
    "text/html",
    "text/xml",
    "text/plain",
    "text/vnd.wap.wml",
    "application/javascript",
    "application/rss+xml",
];

impl Default for ContentSettings {
    fn default() -> Self {
        let types: [(&[u8], &[u8]); 3] =
            [(b"html", b"text/html"), (b"gif", b"image/gif"), (b"jpg", b"image/jpeg")];
        Self {
            slice: 0,
            subrequest_output_buffer_size: 4096,
            root: Text::builtin("html"),
            alias: false,
            alias_prefix_len: None,
            index: vec![Text::builtin("index.html")],
            try_files: None,
            error_pages: Vec::new(),
            recursive_error_pages: false,
            types: Arc::new(types.iter().map(|(e, t)| (e.to_vec(), t.to_vec())).collect()),
            default_type: Text::builtin("text/plain"),
            charset: None,
            source_charset: None,
            charset_types: CHARSET_TYPES.map(str::to_owned).to_vec(),
            override_charset: false,
            internal: false,
            sendfile: false,
            sendfile_max_chunk: 2 << 20,
            output_buffers: super::LargeBuffers { count: 2, size: 32 << 10 },
            limit_rate: Text::builtin("0"),
            limit_rate_after: Text::builtin("0"),
            max_ranges: None,
            etag: true,
            if_modified_since: IfModifiedSince::Exact,
            server_tokens: ServerTokens::On,
            absolute_redirect: true,
            port_in_redirect: true,
            server_name_in_redirect: false,
            disable_symlinks: None,
            msie_padding: true,
            msie_refresh: false,
        }
    }
}
