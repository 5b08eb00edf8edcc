//! Named parameters sent to an origin.

use myriad_script::Template;

/// Parameter of one `fastcgi_param` or `proxy_set_header` directive.
#[derive(PartialEq)]
pub(crate) struct Param {
    /// Name of the parameter.
    pub name: Box<[u8]>,
    /// Value of the parameter.
    pub value: Template,
    /// If true, the parameter is omitted if its value is empty (`if_not_empty`).
    pub if_not_empty: bool,
}
