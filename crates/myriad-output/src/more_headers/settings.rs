//! What the directives say.

use myriad_conf::Text;

/// What one field becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Its lines are taken out, and one with this value is added.
    Set(Text),
    /// A line is added beside those that are there (`-a`).
    Add(Text),
    /// Its lines are taken out; a `*` at the end of the name stands for any end.
    Clear,
}

/// A field and what it becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldChange {
    /// The name as it is written.
    pub name: Vec<u8>,
    /// What it becomes.
    pub change: Change,
}

/// One directive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Edit {
    /// `-s`: the statuses that it is for; any where empty.
    pub statuses: Vec<u16>,
    /// `-t`: the media types that it is for, lower case; any where empty.
    pub types: Vec<String>,
    /// The fields.
    pub fields: Vec<FieldChange>,
}

/// The directives of a level, those of the levels around it first: an inner level adds to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MoreHeadersSettings {
    /// The directives, in the order in which they work.
    pub edits: Vec<Edit>,
}

myriad_conf::feature_settings!(MoreHeadersSettings);
