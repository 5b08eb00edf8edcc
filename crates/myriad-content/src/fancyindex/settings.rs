//! Settings of `fancyindex*`.

use myriad_conf::{Span, Text};

use super::order::SortOrder;

/// Source of the header or footer of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum PageInsert {
    /// Default header or footer of this server.
    #[default]
    BuiltIn,
    /// Response to a subrequest for a URI of this server; a URI without a leading slash is relative to the directory.
    Subrequest(Text),
    /// Contents of a file; a relative path is below the prefix folder of the process (`-p`).
    Local(Text),
}

/// Settings `fancyindex*` of a configuration level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FancyindexSettings {
    /// True for `fancyindex on`.
    pub on: bool,
    /// `fancyindex_exact_size`: file sizes are listed in bytes instead of rounded.
    pub exact_size: bool,
    /// `fancyindex_localtime`: modification times are listed in local time instead of UTC.
    pub local_time: bool,
    /// `fancyindex_time_format`: format of modification times, as for `strftime`.
    pub time_format: Text,
    /// `fancyindex_default_sort`: order unless the client requests another.
    pub order: SortOrder,
    /// `fancyindex_case_sensitive`: true to sort uppercase letters before lowercase letters, false to ignore letter
    /// case.
    pub case_sensitive: bool,
    /// `fancyindex_directories_first`: directories are listed before files.
    pub directories_first: bool,
    /// `fancyindex_css_href`: URL of a style sheet; empty for none.
    pub css: Text,
    /// `fancyindex_header`: text before the listing.
    pub header: PageInsert,
    /// `fancyindex_footer`: text after the listing.
    pub footer: PageInsert,
    /// `fancyindex_ignore`: regular expressions of names that are omitted, case-insensitive.
    pub ignore: Vec<Text>,
    /// `fancyindex_hide_symlinks`: symbolic links are omitted.
    pub hide_links: bool,
    /// `fancyindex_hide_parent_dir`: the link to the parent directory is omitted.
    pub hide_parent: bool,
    /// `fancyindex_show_dotfiles`: names with a leading dot are listed.
    pub show_hidden: bool,
    /// `fancyindex_show_path`: the path of the directory follows the header.
    pub show_path: bool,
    /// Position of `fancyindex_show_path` in the configuration.
    pub show_path_at: Span,
}

myriad_conf::feature_settings!(FancyindexSettings);
