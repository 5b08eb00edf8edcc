//! Settings of the directives.

use myriad_conf::Text;

/// Change of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HeaderChange {
    /// Its lines are removed, and a line with this value is added.
    Set(Text),
    /// A line is added to the existing lines (`-a`).
    Add(Text),
    /// Its lines are removed; a trailing `*` in the name matches any suffix.
    Clear,
}

/// Field and its change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldChange {
    /// Name as written.
    pub name: Vec<u8>,
    /// Change of the field.
    pub change: HeaderChange,
}

/// Single directive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ResponseHeaderEdit {
    /// `-s`: statuses that it applies to; empty for any.
    pub statuses: Vec<u16>,
    /// `-t`: media types that it applies to, lower case; empty for any.
    pub types: Vec<String>,
    /// Fields and their changes.
    pub fields: Vec<FieldChange>,
}

/// Directives of a level, after those of the enclosing levels: an inner level adds to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MoreHeadersSettings {
    /// Directives in the order of application.
    pub edits: Vec<ResponseHeaderEdit>,
}

myriad_conf::feature_settings!(MoreHeadersSettings);
