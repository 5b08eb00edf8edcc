//! Settings of the directives.

use myriad_conf::Text;

/// Change of a request header field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldChange {
    /// Name as written; a trailing `*` matches any suffix.
    pub name: Vec<u8>,
    /// New value; `None` if the field is removed.
    pub value: Option<Text>,
}

/// Settings of one directive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HeaderEdit {
    /// `-t`: media types of the requests that are changed, in lower case; all if empty.
    pub types: Vec<String>,
    /// `-r`: only fields that the request has are changed.
    pub replaces_only: bool,
    /// Fields to change.
    pub fields: Vec<FieldChange>,
}

/// Directives of a level. The directives of outer levels come first; an inner level adds to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MoreInputSettings {
    /// Directives in the order of their execution.
    pub edits: Vec<HeaderEdit>,
}

myriad_conf::feature_settings!(MoreInputSettings);
