//! What the directives say.

use myriad_conf::Text;

/// A field of requests, and what it becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldChange {
    /// The name as it is written; a `*` at its end stands for any end.
    pub name: Vec<u8>,
    /// Its value; none where it is taken out.
    pub value: Option<Text>,
}

/// One directive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Edit {
    /// `-t`: the media types of requests that it is for, lower case; any where empty.
    pub types: Vec<String>,
    /// `-r`: only fields that the request has.
    pub replaces_only: bool,
    /// The fields.
    pub fields: Vec<FieldChange>,
}

/// The directives of a level, those of the levels around it first: an inner level adds to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MoreInputSettings {
    /// The directives, in the order in which they work.
    pub edits: Vec<Edit>,
}

myriad_conf::feature_settings!(MoreInputSettings);
