//! Selection of an origin's response fields that are forwarded to the client.

use myriad_http::Known;
use myriad_policy::Tags;

use super::{Caches, OriginPlace};

impl OriginPlace {
    /// Returns whether a trailer is forwarded to the client: no cookies, and no fields that only have a meaning in a
    /// head.
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

    /// Returns whether a response field is forwarded to the client. Fields of the connection and of the accelerator are
    /// not, nor are `Date` and `Server`, which this server sends, unless `*_pass_header` permits it.
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
            // The announcement of trailers is forwarded only with the trailers.
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
        // Cache tags are addressed to the cache only.
        let tags = known.is_some_and(Tags::is_field) && !matches!(self.cache, Caches::None);
        !hidden && !tags && !self.protocol.hides(name) && !listed(&self.answer.hide)
    }
}
