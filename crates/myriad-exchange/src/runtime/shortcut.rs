//! Inputs that decide whether two requests are equivalent.

use myriad_http::Known;

/// Inputs of the site's rules in addition to the request line: two requests with equal inputs lead to the same page.
pub struct Shortcut {
    /// Parts of the request.
    pub parts: Vec<PartRead>,
}

/// Part of the request that rules read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartRead {
    /// Well-known field.
    Known(Known),
    /// Any other field, by name.
    Other(Box<[u8]>),
    /// `X-Forwarded-Proto`, and whether its sender is trusted.
    ForwardedScheme,
    /// `X-Forwarded-Host` of a trusted sender.
    ForwardedHost,
}

/// Request field that a variable reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldRead {
    /// Well-known field.
    Known(Known),
    /// Any other field, by name.
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
