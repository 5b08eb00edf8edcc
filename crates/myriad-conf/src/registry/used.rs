//! Names that a directive uses and another one defines.

use crate::{model::HttpConf, text::Text};

/// A name that must be defined somewhere; checked when everything has been read.
pub struct Use {
    /// The name. A text with variables is none: its setter leaves it out.
    pub name: Text,
    /// The names that there are of its kind.
    pub of: &'static Names,
}

/// Names of one kind, defined in `http`.
pub struct Names {
    /// What an error calls such a name: `log format`.
    pub kind: &'static str,
    /// Those that are defined.
    pub defined: fn(&HttpConf) -> Vec<&str>,
    /// A directive that would define the name, for whoever has to write it.
    pub example: fn(&str) -> String,
}
