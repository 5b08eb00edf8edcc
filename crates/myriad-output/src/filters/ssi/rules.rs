//! Compiled settings of the SSI filter.

use myriad_http::media_types::TypeSet;

/// Compiled `ssi*` of a location.
pub(super) struct Ssi {
    /// Settings for the processing of a page.
    pub page: myriad_script::ssi::SsiRules,
    /// `ssi_last_modified`: true if `Last-Modified` is preserved.
    pub last_modified: bool,
    /// `ssi_types`: media types in which commands are executed.
    pub types: TypeSet,
}
