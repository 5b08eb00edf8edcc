//! Settings for serving files (`root`, `try_files`, `etag`, …).

use std::collections::HashMap;
use std::sync::Arc;

use myriad_conf::settings::TryFilesEnd;
use myriad_encode::Coding;
use myriad_files::{LinkRule, Validity};
use myriad_script::Template;

/// Media types by file extension.
pub type MediaTypes = HashMap<Box<[u8]>, Box<[u8]>>;

/// File settings of a location.
#[derive(PartialEq)]
pub struct FilePlace {
    /// `root` without a final slash (empty for `/`), or `alias`: an absolute path, unless it begins with a variable.
    pub root: Template,
    /// Rule by which `root` or `alias` and the URI form a file path.
    pub rooting: Rooting,
    /// `index`: names of index files, in the order in which they are tried.
    pub index: Box<[Template]>,
    /// `try_files`: paths that are checked in order; `None` without the directive.
    pub try_files: Option<Box<TryFiles>>,
    /// `types`: media types by file extension.
    pub types: Arc<MediaTypes>,
    /// `default_type`: media type of files whose extension is not in `types`.
    pub default_type: Box<[u8]>,
    /// `etag`: true if responses with files get an entity tag.
    pub etag: bool,
    /// `if_modified_since`: the way in which the field `If-Modified-Since` is compared with the time of the last
    /// modification.
    pub if_modified_since: myriad_policy::IfModifiedSince,
    /// `max_ranges`: maximum number of ranges in a request that are served; `usize::MAX` without a limit.
    pub max_ranges: usize,
    /// `disable_symlinks`: restriction of symbolic links in paths of files; `None` if it is off.
    pub symlinks: Option<Box<Symlinks>>,
    /// Times for which metadata of files may be cached (`open_file_cache_valid`).
    pub validity: Validity,
    /// Codings whose precompressed files are looked up next to a file (`gzip_static` etc.), in order of preference. The
    /// flag is set for `always`: even clients that do not accept the coding get the file.
    pub precompressed: Box<[(Coding, bool)]>,
}

/// `disable_symlinks`: restriction of symbolic links in paths of files.
#[derive(PartialEq)]
pub struct Symlinks {
    /// Kind of links that are rejected.
    pub rule: LinkRule,
    /// `from=`: leading part of paths in which links are not checked.
    pub from: Template,
}

/// Rule by which `root` or `alias` and the URI form a file path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rooting {
    /// `root` followed by the URI.
    Root,
    /// `alias` followed by the URI without the location's prefix, whose length in bytes is given.
    Alias(usize),
    /// `alias` in a regular expression location: the complete path.
    Whole,
}

/// Compiled `try_files` directive of a location.
#[derive(PartialEq)]
pub struct TryFiles {
    /// Candidates in the order in which they are checked: all parameters of `try_files` except the last.
    pub candidates: Box<[Candidate]>,
    /// Last parameter of `try_files`: action if no candidate exists.
    pub end: TryFilesEnd<Template>,
    /// True if `root` and `from=` of `disable_symlinks` are constant, and all candidates are paths that depend only on
    /// the URI, so that results may be cached by URI.
    pub by_uri: bool,
}

/// Candidate of `try_files`.
#[derive(PartialEq)]
pub enum Candidate {
    /// File or directory.
    Path {
        /// Path to check, without the final `/` of a directory.
        name: Template,
        /// True if the path must be a directory, otherwise it must be a file.
        directory: bool,
    },
    /// Named location; selected if the `try_files` of that location finds one of its candidates, or if it has none.
    Location(Box<[u8]>),
}
