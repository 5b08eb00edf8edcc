//! What decides whether a request is like one before.

use myriad_http::Known;

/// What the site's rules read besides the request line: the same request line and the same fields come to the same.
pub struct Shortcut {
    /// The fields.
    pub fields: Vec<FieldRead>,
}

/// A request field that rules read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldRead {
    /// A well-known one.
    Known(Known),
    /// Any other, by name.
    Other(Box<[u8]>),
}
