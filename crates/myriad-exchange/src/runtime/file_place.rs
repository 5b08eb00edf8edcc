//! Settings for serving files.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_conf::settings::TryFilesEnd;
use myriad_encode::Coding;
use myriad_files::{LinkRule, Validity};
use myriad_script::Template;

/// Media types by extension.
pub type MediaTypes = HashMap<Box<[u8]>, Box<[u8]>>;

/// Settings for serving files.
#[derive(PartialEq)]
pub struct FilePlace {
    /// `root` or `alias`, absolute.
    pub root: Template,
    /// Combination of `root` and the URI into a path.
    pub rooting: Rooting,
    /// `index`.
    pub index: Box<[Template]>,
    /// `try_files`.
    pub try_files: Option<Box<TryFiles>>,
    /// Media types by extension.
    pub types: Arc<MediaTypes>,
    /// `default_type`.
    pub default_type: Box<[u8]>,
    /// `etag`.
    pub etag: bool,
    /// `if_modified_since`.
    pub if_modified_since: myriad_policy::IfModifiedSince,
    /// `max_ranges`; `usize::MAX` without a limit.
    pub max_ranges: usize,
    /// `disable_symlinks`.
    pub symlinks: Option<Box<Symlinks>>,
    /// Time during which file metadata are cached.
    pub validity: Validity,
    /// Codings whose files are looked up next to a file (`gzip_static` and similar directives), in order of preference.
    /// The flag is set if every client receives them (`always`).
    pub precompressed: Box<[(Coding, bool)]>,
}

/// `disable_symlinks`.
#[derive(PartialEq)]
pub struct Symlinks {
    /// Rejected links.
    pub rule: LinkRule,
    /// Leading part of paths that is not checked.
    pub from: Template,
}

/// Combination of `root` or `alias` and the URI into a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rooting {
    /// `root`, followed by the URI.
    Root,
    /// `alias`, followed by the URI without this number of bytes, the location's prefix.
    Alias(usize),
    /// `alias` in a regex location, which is the complete path.
    Whole,
}

/// `try_files`.
#[derive(PartialEq)]
pub struct TryFiles {
    /// Candidates, in order.
    pub candidates: Box<[Candidate]>,
    /// Action if no candidate exists.
    pub end: TryFilesEnd<Template>,
    /// True if root and candidates depend only on the URI, so that results may be cached.
    pub by_uri: bool,
}

/// Parameter of `try_files` except the last.
#[derive(PartialEq)]
pub enum Candidate {
    /// File or directory.
    Path {
        /// Path to test, as in the directive, without the final `/` of a directory.
        name: Template,
        /// True if it must be a directory.
        directory: bool,
    },
    /// Named location, selected if its own `try_files` finds a file.
    Location(Box<[u8]>),
}
