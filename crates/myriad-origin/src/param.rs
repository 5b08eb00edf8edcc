//! Named parameters sent to an origin.

use myriad_script::Template;

/// Single `fastcgi_param` or `proxy_set_header`.
#[derive(PartialEq)]
pub(crate) struct Param {
    /// Name of the parameter.
    pub name: Box<[u8]>,
    /// Value of the parameter.
    pub value: Template,
    /// Set with `if_not_empty`: the parameter is omitted if its value is empty.
    pub if_not_empty: bool,
}
