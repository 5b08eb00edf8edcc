//! `error_page`.

use myriad_conf::settings::ErrorPageCode;
use myriad_script::Template;

/// Single `error_page` directive.
#[derive(PartialEq)]
pub struct ErrorPage {
    /// Handled statuses.
    pub codes: Vec<u16>,
    /// Status to send.
    pub answer: ErrorPageCode,
    /// Target.
    pub target: ErrorTarget,
}

/// Target of an `error_page`.
#[derive(PartialEq)]
pub enum ErrorTarget {
    /// Named location.
    Named(Box<[u8]>),
    /// URI on this server, or URL of a redirect.
    Uri(Template),
}
