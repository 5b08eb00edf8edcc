//! `error_page`.

use myriad_conf::settings::ErrorPageCode;
use myriad_script::Template;

/// One `error_page`.
#[derive(PartialEq)]
pub struct ErrorPage {
    /// Statuses it answers.
    pub codes: Vec<u16>,
    /// The status to send.
    pub answer: ErrorPageCode,
    /// Where it leads.
    pub target: ErrorTarget,
}

/// Where an `error_page` leads.
#[derive(PartialEq)]
pub enum ErrorTarget {
    /// A named location.
    Named(Box<[u8]>),
    /// An URI on this server, or an URL to redirect to.
    Uri(Template),
}
