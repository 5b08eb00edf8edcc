//! Cookies of a response that was stored. Only the client whose request fetched it gets them.

use myriad_http::Known;
use myriad_net::ResponseBody;

use myriad_exchange::exchange::{ContentResponse, Exchange};
use myriad_origin::{rewrite, sticky};
use myriad_policy::client_retains_cookie;

use crate::journey_step::CacheContext;

/// Appends the cookies of the origin's response to `answer` if this request fetched the page. Left out are cookies that
/// the location hides, and impersonal cookies that the client has and that were not sent to the origin.
///
/// Cookies of a response with `X-Accel-Redirect` are not included: they are carried to the response of the other
/// location.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{head, held, keyed, site};

    fn appended(directives: &str, fetched: bool, sent: &[(&str, &str)]) -> String {
        let mut exchange = keyed(&site(directives), sent);
        exchange.request.cache.lookup.fetched = fetched;
        exchange.request.origin_mut().head =
            Some(head(200, &[("Set-Cookie", "a=1"), ("X", "y"), ("Set-Cookie", "b=2")]));
        let mut answer = ContentResponse::new(200, ResponseBody::None);
        let held = held(&exchange);
        append(&mut exchange, held.get(), &mut answer);
        String::from_utf8(answer.lines).expect("text")
    }

    #[test]
    fn cookies_are_sent_only_to_client_that_caused_fetch() {
        assert_eq!(appended("", true, &[]), "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n");
        assert_eq!(appended("", false, &[]), "");
    }

    #[test]
    fn hidden_cookies_are_sent_to_no_client() {
        assert_eq!(appended("fastcgi_hide_header Set-Cookie;", true, &[]), "");
    }

    #[test]
    fn impersonal_cookie_withheld_from_origin_is_not_overwritten() {
        let sent = [("Cookie", "b=own")];
        let shared = "shared_fetch_headers on; impersonal_cookies b;";
        assert_eq!(appended(shared, true, &sent), "Set-Cookie: a=1\r\n");
        for told in ["impersonal_cookies b;", "shared_fetch_headers Cookie; impersonal_cookies b;"] {
            assert_eq!(appended(told, true, &sent), "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n", "{told}");
        }
    }
}
