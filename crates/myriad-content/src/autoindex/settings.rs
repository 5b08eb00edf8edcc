//! What the directives say.

/// `autoindex_format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AutoindexFormat {
    /// A page.
    #[default]
    Html,
    /// A document.
    Xml,
    /// An array.
    Json,
    /// A call with an array, of the function that the argument `callback` names.
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
