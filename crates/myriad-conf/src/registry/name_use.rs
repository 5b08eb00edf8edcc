//! Names that a directive uses and another directive defines.

use crate::{model::HttpConf, text::Text};

/// Name that must be defined elsewhere; checked after the whole configuration has been read.
pub struct NameUse {
    /// Name. Setters do not add names with variables.
    pub name: Text,
    /// Kind of the name.
    pub of: &'static NameKind,
}

/// Kind of names that are defined in `http`.
pub struct NameKind {
    /// Kind in the form used by errors: `log format`.
    pub kind: &'static str,
    /// Returns the defined names.
    pub defined: fn(&HttpConf) -> Vec<&str>,
    /// Returns an example of a directive that defines the name, used as advice.
    pub example: fn(&str) -> String,
}
