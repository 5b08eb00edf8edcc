//! Cookies of a response that was stored. Only the client whose request fetched it gets them.

use myriad_http::Known;
use myriad_net::ResponseBody;

use myriad_exchange::exchange::{ContentResponse, Exchange};
use myriad_origin::{rewrite, sticky};
use myriad_policy::client_retains_cookie;

use crate::journey_step::CacheContext;

/// Appends the cookies of the origin's response, and the cookie of `sticky`, to `answer` if this request fetched the
/// page. Omits cookies that the location hides, and impersonal cookies that the client has already and that were not
/// sent to the origin.
///
/// Cookies of a response with `X-Accel-Redirect` are not included here: they are added to the response of the location
/// to which the request is redirected.
pub(crate) fn append(exchange: &mut Exchange, cached: CacheContext<'_>, answer: &mut ContentResponse) {
    let CacheContext { origin, cache } = cached;
    if !exchange.request.cache.lookup.fetched {
        return;
    }
    let Some(head) = exchange.request.origin.as_ref().and_then(|facts| facts.head.as_ref()) else { return };
    let mut cookies = ContentResponse::new(0, ResponseBody::None);
    for cookie in head.fields.known_all(Known::SetCookie) {
        let sent = exchange.request.received.head.fields();
        if origin.passes(Some(Known::SetCookie), b"Set-Cookie", true)
            && !client_retains_cookie(sent, cookie, &cache.rules)
        {
            cookies.field(b"Set-Cookie", cookie);
        }
    }
    rewrite::rewrite(exchange, origin, &mut cookies);
    sticky::append(exchange, &mut cookies);
    answer.lines.extend_from_slice(&cookies.lines);
}
