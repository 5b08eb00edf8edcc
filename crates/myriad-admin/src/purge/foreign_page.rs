//! Detection of requests that a browser sends on behalf of a page of another site: they have the IP address of the
//! browser's user, who may be permitted.

use std::borrow::Cow;

use myriad_http::Known;
use myriad_http::uri::parse_host;

use crate::purge::own_host;
use myriad_exchange::exchange::Request;
use myriad_http::uri::after_scheme;

/// Returns whether a browser sent the request on behalf of a page of another site. Either the request's headers show
/// this (`Sec-Fetch-Site`, `Origin`), or it has one of them and its host is neither a name nor an address of this
/// server, as with a foreign name that resolves to this machine (DNS rebinding). Programs, such as an application that
/// purges, send no such headers. With `behind_proxy`, an `Origin` with the requested host is accepted whatever its
/// scheme and port, because the client may have used others with the proxy.
pub fn is_foreign_page(request: &Request, behind_proxy: bool) -> bool {
    let fields = request.received.head.fields();
    let is_foreign =
        |site: &[u8]| !site.eq_ignore_ascii_case(b"same-origin") && !site.eq_ignore_ascii_case(b"none");
    if fields.get_all(b"sec-fetch-site").any(is_foreign) {
        return true;
    }
    let mut origins = fields.get_all(b"origin").peekable();
    if origins.peek().is_none() {
        return fields.get_all(b"sec-fetch-site").next().is_some() && !own_host::is_known(request);
    }
    let host = request.received.head.known(Known::Host).unwrap_or_default();
    let own = [request.scheme().as_bytes(), b"://", host].concat();
    let is_own = |origin: &[u8]| {
        origin.eq_ignore_ascii_case(&own)
            || behind_proxy && host_of(origin).is_some_and(|host| *host == *request.route.host)
    };
    !origins.all(is_own) || !own_host::is_known(request)
}

/// Returns whether the request has a `Referer` that is invalid or has a host other than the requested one. Browsers
/// without `Sec-Fetch-Site` send `Referer`, unless the page disables it.
pub fn has_foreign_referer(request: &Request) -> bool {
    let mut pages = request.received.head.fields().get_all(b"referer");
    pages.any(|page| host_of(page).is_none_or(|host| *host != *request.route.host))
}

/// Returns the host of an `http` or `https` URL without user and port, normalized as in requests; `None` if it is
/// invalid.
fn host_of(url: &[u8]) -> Option<Cow<'_, [u8]>> {
    let rest = after_scheme(url)?;
    // Browsers treat `\` as `/`.
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'\\' | b'?' | b'#')).unwrap_or(rest.len());
    let authority = &rest[..end];
    let host = &authority[authority.iter().rposition(|byte| *byte == b'@').map_or(0, |at| at + 1)..];
    parse_host(host).ok().map(|host| host.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_urls_are_read_without_user_and_port() {
        let host_of = |url: &str| host_of(url.as_bytes()).map(|host| String::from_utf8(host.into()).unwrap());
        let urls = [
            "http://a.test",
            "https://A.test.",
            "https://a.test.:8443/",
            "HTTPS://a.test:8443/x?y://b.test",
            "http://u:p@a.test/",
            "http://b.test@a.test?c",
        ];
        for url in urls {
            assert_eq!(host_of(url).as_deref(), Some("a.test"), "{url}");
        }
        assert_eq!(host_of("https://[::1]:443/").as_deref(), Some("[::1]"));
        assert_eq!(host_of(r"http://b.test\@a.test/").as_deref(), Some("b.test"));
        for url in ["", "null", "a.test", "http://", "http:///a.test", "file://a.test/", "http://a.test:b/"] {
            assert_eq!(host_of(url), None, "{url}");
        }
    }
}
