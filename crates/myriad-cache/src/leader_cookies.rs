//! Cookies that came with a page: they go to the visitor alone who caused its fetch.

use myriad_http::Known;
use myriad_net::ResponseBody;

use myriad_exchange::exchange::{Answer, Exchange};
use myriad_exchange::runtime::OriginPlace;
use myriad_origin::{rewrite, sticky};

/// Appends the cookies of the origin's head to the answer, where this request has fetched the page. What another place answered
/// before an `X-Accel-Redirect` is not meant: its cookies are carried along as lines.
pub(crate) fn append(exchange: &mut Exchange, origin: &OriginPlace, answer: &mut Answer) {
    if !exchange.request.cache.journey.fetched {
        return;
    }
    let Some(head) = exchange.request.origin.as_ref().and_then(|facts| facts.head.as_ref()) else { return };
    let mut cookies = Answer::new(0, ResponseBody::None);
    for cookie in head.fields.known_all(Known::SetCookie) {
        if origin.passes(Some(Known::SetCookie), b"Set-Cookie", true) {
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

    fn appended(directives: &str, fetched: bool) -> String {
        let mut exchange = keyed(&site(directives), &[]);
        exchange.request.cache.journey.fetched = fetched;
        exchange.request.origin_mut().head =
            Some(head(200, &[("Set-Cookie", "a=1"), ("X", "y"), ("Set-Cookie", "b=2")]));
        let mut answer = Answer::new(200, ResponseBody::None);
        let held = held(&exchange);
        append(&mut exchange, &held.origin, &mut answer);
        String::from_utf8(answer.lines).expect("text")
    }

    #[test]
    fn cookies_go_to_who_caused_the_fetch_alone() {
        assert_eq!(appended("", true), "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n");
        assert_eq!(appended("", false), "");
    }

    #[test]
    fn hidden_cookies_go_to_nobody() {
        assert_eq!(appended("fastcgi_hide_header Set-Cookie;", true), "");
    }
}
