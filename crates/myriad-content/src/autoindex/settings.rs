//! Settings of `autoindex*`.

/// Value of `autoindex_format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AutoindexFormat {
    /// `html`: an HTML page.
    #[default]
    Html,
    /// `xml`: an XML document.
    Xml,
    /// `json`: a JSON array.
    Json,
    /// JSONP: call of the function in the argument `callback` with a JSON array; without this argument, the JSON array.
    Jsonp,
}

/// Settings `autoindex*` of a configuration level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AutoindexSettings {
    /// True for `autoindex on`.
    pub on: bool,
    /// `autoindex_format`: format of the listing.
    pub format: AutoindexFormat,
    /// `autoindex_exact_size`: HTML listings contain file sizes in bytes instead of rounded sizes.
    pub exact_size: bool,
    /// `autoindex_localtime`: HTML listings contain modification times in local time instead of UTC.
    pub local_time: bool,
}

myriad_conf::feature_settings!(AutoindexSettings);
