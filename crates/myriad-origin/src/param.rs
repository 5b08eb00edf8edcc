//! What an origin is told by name.

use myriad_script::Template;

/// One `fastcgi_param` or `proxy_set_header`.
#[derive(PartialEq)]
pub(crate) struct Param {
    /// The name.
    pub name: Box<[u8]>,
    /// The value.
    pub value: Template,
    /// `if_not_empty`.
    pub if_not_empty: bool,
}
