//! How files become answers.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_conf::settings::TryFilesEnd;
use myriad_encode::Coding;
use myriad_files::{LinkRule, Validity};
use myriad_script::Template;

/// Media types by extension.
pub type MediaTypes = HashMap<Box<[u8]>, Box<[u8]>>;

/// How files become answers.
#[derive(PartialEq)]
pub struct FilePlace {
    /// `root` or `alias`, absolute.
    pub root: Template,
    /// How `root` and the URI make a path.
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
    /// How long what is known of a file is believed.
    pub validity: Validity,
    /// Codings whose files are looked for beside a file (`gzip_static` and its like), the best first; the flag says
    /// that every client gets them (`always`).
    pub precompressed: Box<[(Coding, bool)]>,
}

/// `disable_symlinks`.
#[derive(PartialEq)]
pub struct Symlinks {
    /// Which links are refused.
    pub rule: LinkRule,
    /// The leading part of paths that is not checked.
    pub from: Template,
}

/// How `root` or `alias` and the URI make a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rooting {
    /// `root`: the URI follows.
    Root,
    /// `alias`: the URI follows without so many bytes, the location's prefix.
    Alias(usize),
    /// `alias` in a regex location: it is the whole path.
    Whole,
}

/// `try_files`.
#[derive(PartialEq)]
pub struct TryFiles {
    /// What to try, in order.
    pub candidates: Box<[Candidate]>,
    /// What follows when none is there.
    pub end: TryFilesEnd<Template>,
    /// Whether root and candidates read nothing but the URI, so that what was found may be remembered.
    pub by_uri: bool,
}

/// A word of `try_files` that is not the last.
#[derive(PartialEq)]
pub enum Candidate {
    /// A file of this name; or a directory.
    Path {
        /// The name.
        name: Template,
        /// Whether a directory is asked for.
        directory: bool,
    },
    /// A named location, where its own `try_files` finds something.
    Location(Box<[u8]>),
}
