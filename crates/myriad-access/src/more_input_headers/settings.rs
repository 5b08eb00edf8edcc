//! Settings of `more_*_input_headers`.

use myriad_conf::Text;

/// Change of one request header field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldChange {
    /// Name as written; a trailing `*` matches any suffix.
    pub name: Vec<u8>,
    /// New value; `None` removes the field.
    pub value: Option<Text>,
}

/// One `more_set_input_headers` or `more_clear_input_headers`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HeaderEdit {
    /// `-t`: media types of the requests that are changed, in lower case; empty for all requests.
    pub types: Vec<String>,
    /// `-r`: only fields that the request has are changed, none are added.
    pub replaces_only: bool,
    /// Fields to change.
    pub fields: Vec<FieldChange>,
}

/// Directives of a level. A nested level adds its directives to those of the outer level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MoreInputSettings {
    /// Directives in the order of their execution, those of outer levels first.
    pub edits: Vec<HeaderEdit>,
}

myriad_conf::feature_settings!(MoreInputSettings);
