//! Settings of `more_set_headers` and `more_clear_headers`.

use myriad_conf::Text;

/// Kind of the change of a response field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HeaderChange {
    /// Lines of the field are removed, and a line with this value is added.
    Set(Text),
    /// `-a`: a line with this value is added to the existing lines.
    Add(Text),
    /// Lines of the field are removed; a trailing `*` in the name matches any suffix.
    Clear,
}

/// Response field and its change by a directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldChange {
    /// Name of the field as written.
    pub name: Vec<u8>,
    /// Kind of the change, with the new value if any.
    pub change: HeaderChange,
}

/// One `more_set_headers` or `more_clear_headers` directive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ResponseHeaderEdit {
    /// `-s`: statuses of responses to which the directive applies; empty for any.
    pub statuses: Vec<u16>,
    /// `-t`: media types of responses to which the directive applies, in lower case; empty for any.
    pub types: Vec<String>,
    /// Fields that the directive changes, with their changes.
    pub fields: Vec<FieldChange>,
}

/// Directives of a configuration level. A nested level adds its directives to those of the outer level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MoreHeadersSettings {
    /// Directives in the order of their application: first those of outer levels, then those of this level.
    pub edits: Vec<ResponseHeaderEdit>,
}

myriad_conf::feature_settings!(MoreHeadersSettings);
