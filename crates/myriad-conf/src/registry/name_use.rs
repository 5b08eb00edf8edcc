//! Names that one directive uses and another directive must define.

use crate::{model::HttpConf, settings::Protocol, text::Text};

/// Name in a directive that another directive must define. Checked after the whole configuration has been read.
pub struct NameUse {
    /// Name that is used; it contains no variables.
    pub name: Text,
    /// Kind of the name (such as log format), which provides the defined names.
    pub of: &'static NameKind,
    /// Protocol of the directive that uses the name; `None` if it belongs to no protocol.
    pub protocol: Option<Protocol>,
}

/// Kind of names that directives of `http` or `stream` define.
pub struct NameKind {
    /// Description in errors, such as `log format`.
    pub kind: &'static str,
    /// Returns the names that a configuration defines.
    pub defined: fn(&HttpConf) -> Vec<&str>,
    /// Returns a directive that defines the name, as an example in errors. The second argument is the protocol of the
    /// directive that uses the name.
    pub example: fn(&str, Option<Protocol>) -> String,
}
