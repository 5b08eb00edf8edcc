//! Named parameters sent to an origin.

use myriad_script::Template;

/// Parameter of one directive such as `fastcgi_param`, `scgi_param` or `proxy_set_header`.
#[derive(PartialEq)]
pub(crate) struct Param {
    /// Name of the parameter or header field.
    pub name: Box<[u8]>,
    /// Value of the parameter or header field.
    pub value: Template,
    /// If true, the parameter is omitted from the request if its value is empty (`if_not_empty`).
    pub if_not_empty: bool,
}
