//! Purpose of a request to an origin, which determines what is forwarded of the client's request.

use myriad_http::{Fields, Known};
use myriad_store::page::{Conditions, Page, conditions};

use super::Request;

/// Purpose of a request to an origin, which determines the header fields that it contains.
#[derive(Clone, Copy)]
pub enum FetchPurpose<'a> {
    /// Response for this client only: the client's request is forwarded with all its header fields, except
    /// `X-Myriad-Probe`.
    Visitor,
    /// Response to be stored in the cache: header fields that request a part, a validation or an encoding are omitted,
    /// and HEAD becomes GET. `Accept-Encoding` contains codings of the client only if the page is stored under the
    /// separate key for clients that accept none of the codings that this server produces.
    Store {
        /// Stored page that the request validates (`If-None-Match`, `If-Modified-Since`); `None` for an unconditional
        /// request.
        confirms: Option<&'a Page>,
        /// Header fields sent instead of the client's, for a fetch shared by clients; `None` to send the client's.
        replacement_fields: Option<&'a Fields>,
    },
    /// Response for a sampled verification of the leak guard, requested as for [`FetchPurpose::Store`]. The request has
    /// `X-Myriad-Probe`, which is not forwarded from clients: the application can exclude it from its statistics.
    Sample {
        /// Header fields sent instead of the client's, for a fetch shared by clients; `None` to send the client's.
        replacement_fields: Option<&'a Fields>,
    },
}

impl FetchPurpose<'_> {
    /// Returns true if a header field of the client must not be forwarded to the origin for this purpose; always false
    /// for `None`, a field without a [`Known`] constant.
    pub fn omits(self, known: Option<Known>) -> bool {
        let is_for_visitor = matches!(self, FetchPurpose::Visitor);
        let is_sample = matches!(self, FetchPurpose::Sample { .. });
        known.is_some_and(|known| {
            !is_for_visitor && NOT_FOR_STORING.contains(&known) || !is_sample && known == Known::XMyriadProbe
        })
    }

    /// Returns the codings to send in `Accept-Encoding` for a page to be stored under the separate key for clients that
    /// accept only codings which this server does not produce; `None` under other keys, and for purposes other than
    /// [`FetchPurpose::Store`].
    pub fn codings(self, request: &Request) -> Option<&[u8]> {
        if matches!(self, FetchPurpose::Store { .. }) { request.cache.forwarded_codings() } else { None }
    }

    /// Returns the header fields to forward to the origin: the client's, or their replacement for a shared fetch.
    pub fn fields<'r>(self, request: &'r Request) -> &'r Fields
    where
        Self: 'r,
    {
        match self {
            FetchPurpose::Store { replacement_fields: Some(fields), .. }
            | FetchPurpose::Sample { replacement_fields: Some(fields) } => fields,
            _ => request.received.head.fields(),
        }
    }

    /// Returns the conditions (`If-None-Match`, `If-Modified-Since`) for validating a stored page; empty without one.
    pub fn conditions(self) -> Conditions {
        match self {
            FetchPurpose::Store { confirms: Some(page), .. } => conditions(page),
            _ => Conditions::new(),
        }
    }
}

/// Request fields that would make a response unsuitable for the cache.
const NOT_FOR_STORING: [Known; 7] = [
    Known::AcceptEncoding,
    Known::IfMatch,
    Known::IfModifiedSince,
    Known::IfNoneMatch,
    Known::IfRange,
    Known::IfUnmodifiedSince,
    Known::Range,
];
