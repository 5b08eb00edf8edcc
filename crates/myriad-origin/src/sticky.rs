//! Session affinity (`sticky`): requests of a client go to the same peer of a group.
//!
//! The affinity cookie is private to the client. The cookie is added to the response after the response was stored, so
//! that neither a stored page nor a cache hit contains the cookie.

use bytes::Bytes;
use myriad_base::calendar::format_cookie_date;
use myriad_conf::model::StickyExpiry;
use myriad_http::{Known, uri};
use myriad_upstream::{Attempts, OriginResponse};

use myriad_exchange::exchange::{ContentResponse, Exchange};
use myriad_exchange::runtime::{OriginGroup, StickyCookiePlace, StickyPlace};

mod learn;
mod text;

use text::{first, text};

/// Maximum length in bytes of a peer identifier (`sticky`) in a request; a longer one is ignored.
const MAX_SID_LEN: usize = 256;

/// Returns the `sticky` identifier of the peer that the request selects; `None` if it selects none, the identifier is
/// empty or too long, or `sticky` is not configured.
pub(crate) fn requested_peer(exchange: &mut Exchange, group: &OriginGroup) -> Option<Bytes> {
    let sid = match group.sticky.as_ref()? {
        StickyPlace::Cookie(cookie) => {
            let mut sent = exchange.request.received.head.fields().known_all(Known::Cookie);
            sent.find_map(|header| uri::cookie(header, cookie.name.as_bytes())).map(Bytes::copy_from_slice)
        }
        StickyPlace::Route(templates) => first(exchange, templates).map(Bytes::from),
        StickyPlace::Learn(place) => return learn::session_peer(exchange, place),
    };
    sid.filter(|value| !value.is_empty() && value.len() <= MAX_SID_LEN)
}

/// Records the peer of a response for later requests of the client: in a cookie, or in the learned session (`sticky`);
/// nothing with `sticky route`.
pub(crate) fn note(
    exchange: &mut Exchange,
    group: &OriginGroup,
    attempts: &Attempts,
    response: &mut OriginResponse,
) {
    let (Some(sticky), Some(sid)) = (&group.sticky, &response.sid) else { return };
    let cookie = match sticky {
        StickyPlace::Cookie(cookie) => cookie,
        StickyPlace::Learn(place) => return learn::note(exchange, place, response),
        StickyPlace::Route(_) => return,
    };
    let now_s = myriad_net::clock::wall_ms() / 1000;
    let value = value(exchange, cookie, sid, now_s);
    attempts.set_cookie(value);
}

/// Adds the `sticky` cookie for the peer of the last attempt to the response for the client that caused the attempt.
pub fn append(exchange: &Exchange, answer: &mut ContentResponse) {
    let Some(facts) = &exchange.request.origin else { return };
    let attempts = facts.attempts.get();
    if let Some(value) = attempts.last().and_then(|attempt| attempt.set_cookie.as_deref()) {
        answer.field(b"Set-Cookie", value);
    }
}

/// Returns the value of `Set-Cookie` for the peer `sid`, with its attributes in nginx's order; `now_s` is the time in
/// seconds since the Unix epoch. A domain with characters that host names must not contain is omitted, and an unknown
/// `samesite` becomes `strict`.
fn value(exchange: &mut Exchange, cookie: &StickyCookiePlace, sid: &str, now_s: u64) -> Vec<u8> {
    let mut out = format!("{}={sid}", cookie.name).into_bytes();
    match cookie.expires {
        None => {}
        Some(StickyExpiry::Max) => {
            out.extend_from_slice(b"; expires=Thu, 31-Dec-37 23:55:55 GMT; max-age=315360000");
        }
        Some(StickyExpiry::Seconds(seconds)) => {
            let date = format_cookie_date(now_s.saturating_add(seconds));
            out.extend_from_slice(format!("; expires={date}; max-age={seconds}").as_bytes());
        }
    }
    let domain = cookie.domain.as_ref().and_then(|domain| text(exchange, domain));
    // The domain may contain client input, so it must not end the attribute or the line.
    if let Some(domain) = domain.filter(|domain| domain.iter().copied().all(is_of_domain)) {
        out.extend_from_slice(b"; domain=");
        out.extend_from_slice(&domain);
    }
    out.extend_from_slice(cookie.flags.as_bytes());
    if let Some(value) = cookie.same_site.as_ref().and_then(|same_site| text(exchange, same_site)) {
        let known = ["strict", "lax", "none"];
        let known = known.into_iter().find(|known| value.eq_ignore_ascii_case(known.as_bytes()));
        out.extend_from_slice(b"; samesite=");
        out.extend_from_slice(known.unwrap_or("strict").as_bytes());
    }
    out.extend_from_slice(cookie.path.as_bytes());
    out
}

fn is_of_domain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte)
}
