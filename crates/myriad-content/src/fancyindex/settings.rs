//! Settings of the directives.

use myriad_conf::{Span, Text};

use super::order::SortOrder;

/// Header or footer of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum PageInsert {
    /// Default text.
    #[default]
    BuiltIn,
    /// Response of a URI of this server; without a leading slash it is relative to the directory.
    Subrequest(Text),
    /// File; a relative path is below the server's prefix.
    Local(Text),
}

/// `fancyindex*` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FancyindexSettings {
    /// `fancyindex`.
    pub on: bool,
    /// `fancyindex_exact_size`.
    pub exact_size: bool,
    /// `fancyindex_localtime`.
    pub local_time: bool,
    /// `fancyindex_time_format`.
    pub time_format: Text,
    /// `fancyindex_default_sort`.
    pub order: SortOrder,
    /// `fancyindex_case_sensitive`.
    pub case_sensitive: bool,
    /// `fancyindex_directories_first`.
    pub directories_first: bool,
    /// `fancyindex_css_href`; empty for none.
    pub css: Text,
    /// `fancyindex_header`.
    pub header: PageInsert,
    /// `fancyindex_footer`.
    pub footer: PageInsert,
    /// `fancyindex_ignore`: regular expressions, case-insensitive.
    pub ignore: Vec<Text>,
    /// `fancyindex_hide_symlinks`.
    pub hide_links: bool,
    /// `fancyindex_hide_parent_dir`.
    pub hide_parent: bool,
    /// `fancyindex_show_dotfiles`.
    pub show_hidden: bool,
    /// `fancyindex_show_path`.
    pub show_path: bool,
    /// Position of that directive.
    pub show_path_at: Span,
}

myriad_conf::feature_settings!(FancyindexSettings);
