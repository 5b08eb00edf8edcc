//! Compiled `error_page` directives.

use myriad_conf::settings::ErrorPageCode;
use myriad_script::Template;

/// One `error_page` directive.
#[derive(PartialEq)]
pub struct ErrorPage {
    /// Statuses of the errors for which the directive is used.
    pub codes: Vec<u16>,
    /// Status of the response: a fixed status (`=200`), that of the error page (`=`), or that of the error.
    pub answer: ErrorPageCode,
    /// Location, URI or URL that provides the page.
    pub target: ErrorTarget,
}

/// Target of an `error_page` directive.
#[derive(PartialEq)]
pub enum ErrorTarget {
    /// Named location (`@name`).
    Named(Box<[u8]>),
    /// URI on this server, or URL to redirect to.
    Uri(Template),
}
