//! `ssi*` at a place.

use myriad_http::media_types::TypeSet;

/// `ssi*`.
pub(super) struct Ssi {
    /// Parsing rules of pages.
    pub page: myriad_script::ssi::SsiRules,
    /// `ssi_last_modified`.
    pub last_modified: bool,
    /// `ssi_types`.
    pub types: TypeSet,
}
