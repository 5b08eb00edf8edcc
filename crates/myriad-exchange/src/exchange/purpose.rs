//! What an origin is asked for, and what of the visitor's request it may be told.

use myriad_http::{Fields, Known};
use myriad_page::{Conditions, Page, conditions};

use super::Request;

/// What the request is made for.
#[derive(Clone, Copy)]
pub enum Purpose<'a> {
    /// For one visitor: everything is passed on.
    Visitor,
    /// To be stored: what asks for a part, a confirmation or an encoding is left out, and HEAD becomes GET. A page for other
    /// codings alone is asked for in those.
    Store {
        /// The page that the origin is asked to confirm.
        confirms: Option<&'a Page>,
        /// What it is told in the place of the client's fields.
        told: Option<&'a Fields>,
    },
}

impl Purpose<'_> {
    /// Whether a field of the client's is left out.
    pub fn leaves_out(self, known: Option<Known>) -> bool {
        matches!(self, Purpose::Store { .. }) && known.is_some_and(|known| NOT_FOR_STORING.contains(&known))
    }

    /// The codings that the origin is asked to choose from.
    pub fn codings(self, request: &Request) -> Option<&[u8]> {
        if matches!(self, Purpose::Store { .. }) { request.cache.told_codings() } else { None }
    }

    /// The client's fields, or what is told in their place.
    pub fn fields<'r>(self, request: &'r Request) -> &'r Fields
    where
        Self: 'r,
    {
        match self {
            Purpose::Store { told: Some(told), .. } => told,
            _ => request.received.head.fields(),
        }
    }

    /// The conditions on which the origin need not send the page again.
    pub fn conditions(self) -> Conditions {
        match self {
            Purpose::Store { confirms: Some(page), .. } => conditions(page),
            _ => Conditions::new(),
        }
    }
}

/// Fields that an answer to be stored must not depend on.
const NOT_FOR_STORING: [Known; 7] = [
    Known::AcceptEncoding,
    Known::IfMatch,
    Known::IfModifiedSince,
    Known::IfNoneMatch,
    Known::IfRange,
    Known::IfUnmodifiedSince,
    Known::Range,
];
