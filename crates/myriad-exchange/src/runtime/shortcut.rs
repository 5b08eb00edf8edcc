//! Inputs that decide whether two requests may share a routing result.

use myriad_http::Known;

/// Parts of a request, besides the request line and `Host`, that the routing rules of the configuration read. If two
/// requests to the same address have equal request lines, `Host` fields and parts of this list, their routing has the
/// same result.
pub struct Shortcut {
    /// Parts of the request that the routing rules read, besides the request line and `Host`.
    pub parts: Vec<PartRead>,
}

/// Part of a request that routing rules read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartRead {
    /// Header field with a constant in [`myriad_http::Known`].
    Known(Known),
    /// Header field without a constant in [`myriad_http::Known`], by name.
    Other(Box<[u8]>),
    /// `X-Forwarded-Proto`, together with the information whether a trusted proxy sent the field.
    ForwardedScheme,
    /// `X-Forwarded-Host`, if a trusted proxy sent it.
    ForwardedHost,
}

/// Header field of the request that a variable reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldRead {
    /// Header field with a constant in [`myriad_http::Known`].
    Known(Known),
    /// Header field without a constant in [`myriad_http::Known`], by name.
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
