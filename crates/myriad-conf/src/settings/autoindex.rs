//! nginx's autoindex module.

/// `autoindex_format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoindexFormat {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoindexSettings {
    /// `autoindex`.
    pub on: bool,
    /// `autoindex_format`.
    pub format: AutoindexFormat,
    /// `autoindex_exact_size`.
    pub exact_size: bool,
    /// `autoindex_localtime`.
    pub local_time: bool,
}

impl Default for AutoindexSettings {
    fn default() -> Self {
        Self { on: false, format: AutoindexFormat::Html, exact_size: true, local_time: false }
    }
}
