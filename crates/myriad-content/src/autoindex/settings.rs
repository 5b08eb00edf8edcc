//! Settings of the directives.

/// `autoindex_format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AutoindexFormat {
    /// HTML page.
    #[default]
    Html,
    /// XML document.
    Xml,
    /// JSON array.
    Json,
    /// Call of the function in the argument `callback` with a JSON array.
    Jsonp,
}

/// `autoindex*`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AutoindexSettings {
    /// `autoindex`.
    pub on: bool,
    /// `autoindex_format`.
    pub format: AutoindexFormat,
    /// `autoindex_exact_size`.
    pub exact_size: bool,
    /// `autoindex_localtime`.
    pub local_time: bool,
}

myriad_conf::feature_settings!(AutoindexSettings);
