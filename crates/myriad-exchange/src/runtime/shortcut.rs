//! What decides whether a request is like one before.

use myriad_http::Known;

/// What the site's rules read besides the request line: two requests that agree in it lead to the same page.
pub struct Shortcut {
    /// Parts of the request.
    pub parts: Vec<PartRead>,
}

/// A part of the request that rules read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartRead {
    /// A well-known field.
    Known(Known),
    /// Any other field, by name.
    Other(Box<[u8]>),
    /// `X-Forwarded-Proto`, and whether its sender is trusted.
    ForwardedScheme,
    /// `X-Forwarded-Host` of a trusted sender.
    ForwardedHost,
}

/// A request field that a variable shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldRead {
    /// A well-known one.
    Known(Known),
    /// Any other, by name.
    Other(Box<[u8]>),
}

impl From<FieldRead> for PartRead {
    fn from(field: FieldRead) -> Self {
        match field {
            FieldRead::Known(known) => Self::Known(known),
            FieldRead::Other(name) => Self::Other(name),
        }
    }
}
