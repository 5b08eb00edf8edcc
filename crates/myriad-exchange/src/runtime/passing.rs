//! Which fields of an origin's answer go to the visitor.

use myriad_http::Known;
use myriad_policy::Tags;

use super::{Caches, OriginPlace};

impl OriginPlace {
    /// Whether a field behind the body goes to the visitor: no cookies and nothing that a head decides by.
    pub fn passes_behind(&self, known: Option<Known>, name: &[u8]) -> bool {
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

    /// Whether a field of an origin goes to the visitor: not what belongs to the connection or to the accelerator, nor
    /// `Date` and `Server`, which are this server's own, unless `*_pass_header` says so.
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
            // What announces trailers goes with them.
            Some(Known::Trailer) if !self.protocol.passes_trailers() => return false,
            Some(Known::SetCookie) if !own => return false,
            Some(known) if self.protocol.ends(known) => return false,
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
        // Tags are between the origin and its cache.
        let tags = known.is_some_and(Tags::is_field) && !matches!(self.cache, Caches::None);
        !hidden && !tags && !self.protocol.hides(name) && !listed(&self.answer.hide)
    }
}
