//! Purpose of a request to an origin, which determines the forwarded parts of the client's request.

use myriad_http::{Fields, Known};
use myriad_store::page::{Conditions, Page, conditions};

use super::Request;

/// Purpose of a request to an origin.
#[derive(Clone, Copy)]
pub enum FetchPurpose<'a> {
    /// Response for one client: everything is forwarded.
    Visitor,
    /// Response to be stored: fields that request a part, a validation or an encoding are omitted, and HEAD becomes
    /// GET. A page for other codings only is requested in these codings.
    Store {
        /// Page that the origin validates.
        confirms: Option<&'a Page>,
        /// Fields sent instead of the client's fields.
        replacement_fields: Option<&'a Fields>,
    },
}

impl FetchPurpose<'_> {
    /// Returns whether a field of the client is omitted.
    pub fn omits(self, known: Option<Known>) -> bool {
        matches!(self, FetchPurpose::Store { .. })
            && known.is_some_and(|known| NOT_FOR_STORING.contains(&known))
    }

    /// Returns the codings sent to the origin in `Accept-Encoding`, if they are set here.
    pub fn codings(self, request: &Request) -> Option<&[u8]> {
        if matches!(self, FetchPurpose::Store { .. }) { request.cache.forwarded_codings() } else { None }
    }

    /// Returns the client's fields or their replacement.
    pub fn fields<'r>(self, request: &'r Request) -> &'r Fields
    where
        Self: 'r,
    {
        match self {
            FetchPurpose::Store { replacement_fields: Some(told), .. } => told,
            _ => request.received.head.fields(),
        }
    }

    /// Returns the conditions under which the origin need not send the page again.
    pub fn conditions(self) -> Conditions {
        match self {
            FetchPurpose::Store { confirms: Some(page), .. } => conditions(page),
            _ => Conditions::new(),
        }
    }
}

/// Fields on which a stored response must not depend.
const NOT_FOR_STORING: [Known; 7] = [
    Known::AcceptEncoding,
    Known::IfMatch,
    Known::IfModifiedSince,
    Known::IfNoneMatch,
    Known::IfRange,
    Known::IfUnmodifiedSince,
    Known::Range,
];
