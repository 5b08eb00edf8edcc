//! Selection of the fields in an origin's response that are forwarded to the client.

use myriad_http::Known;
use myriad_policy::Tags;

use super::{Caches, OriginPlace};

impl OriginPlace {
    /// Returns true if the trailer `name` is forwarded to the client. Always false for cookies and for fields that make
    /// sense only in a head; for other fields, the result is that of [`Self::passes`].
    pub fn passes_trailer(&self, known: Option<Known>, name: &[u8]) -> bool {
        let is_for_heads = matches!(
            known,
            Some(
                Known::CacheControl
                    | Known::ContentEncoding
                    | Known::ContentRange
                    | Known::ContentType
                    | Known::Host
                    | Known::Location
                    | Known::SetCookie
                    | Known::Vary
            )
        );
        !is_for_heads && self.passes(known, name, false)
    }

    /// Returns true if a response field is forwarded to the client. False for `Content-Length` and for fields of the
    /// connection or the protocol. `Trailer` is forwarded only if trailers are, and cookies only if `own` is set (the
    /// response is for this client only). nginx's `X-Accel-*` fields, `Date`, `Server`, fields that the protocol hides,
    /// fields in `*_hide_header` and, with a cache, cache tags and LiteSpeed's cache fields are hidden unless
    /// `*_pass_header` names them.
    pub fn passes(&self, known: Option<Known>, name: &[u8], own: bool) -> bool {
        let listed = |list: &[Box<[u8]>]| list.iter().any(|listed| listed.eq_ignore_ascii_case(name));
        match known {
            Some(
                Known::Connection
                | Known::KeepAlive
                | Known::ProxyConnection
                | Known::TransferEncoding
                | Known::Te
                | Known::Upgrade
                | Known::ContentLength,
            ) => return false,
            // The announcement of trailers is forwarded only together with trailers.
            Some(Known::Trailer) if !self.protocol.passes_trailers() => return false,
            Some(Known::SetCookie) if !own => return false,
            Some(known) if self.protocol.consumes_field(known) => return false,
            _ => {}
        }
        if listed(&self.answer.pass) {
            return true;
        }
        let hidden = matches!(
            known,
            Some(
                Known::Date
                    | Known::Server
                    | Known::XAccelExpires
                    | Known::XAccelRedirect
                    | Known::XAccelLimitRate
                    | Known::XAccelBuffering
                    | Known::XAccelCharset
            )
        );
        // Cache tags are meant only for the cache.
        let tags = known.is_some_and(Tags::is_field) && !matches!(self.cache, Caches::None);
        !hidden && !tags && !self.protocol.hides(name) && !listed(&self.answer.hide)
    }
}
