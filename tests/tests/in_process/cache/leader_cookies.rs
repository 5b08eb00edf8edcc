//! Tests of `Set-Cookie` of a stored response.

use super::support::CacheTestSite;
use super::test_origin::OriginReply;

const IGNORED: &str = "proxy_ignore_headers Set-Cookie;";

/// Returns the cookies in the response to the request that fetches a page, and to a later request.
fn cookies(directives: &str, sent: &[(&str, &str)]) -> [Vec<String>; 2] {
    let mut site = CacheTestSite::new(directives);
    site.origin.respond(200, &[("Set-Cookie", "a=1"), ("X", "y"), ("Set-Cookie", "b=2")], "a page");
    ["200 MISS", "200 HIT"].map(|expected| {
        let response = site.get("GET /a", sent);
        assert_eq!(response.summary(), expected, "{directives}");
        response.field("Set-Cookie").into_iter().map(str::to_owned).collect()
    })
}

#[test]
fn cookies_are_sent_only_to_client_that_caused_fetch() {
    assert_eq!(cookies(IGNORED, &[]), [vec!["a=1", "b=2"], vec![]]);
}

#[test]
fn cookies_of_redirecting_response_are_sent_once_with_stored_page() {
    let mut site = CacheTestSite::new("proxy_cache_key $uri;");
    site.origin.respond_with(|request| {
        if request.starts_with("GET /first ") {
            OriginReply::response(200, &[("X-Accel-Redirect", "/page"), ("Set-Cookie", "a=1")], "")
        } else {
            OriginReply::response(200, &[], "a page")
        }
    });
    assert_eq!(site.get("GET /page", &[]).summary(), "200 MISS");
    let response = site.get("GET /first", &[]);
    assert_eq!((&*response.summary(), &*response.body), ("200 HIT", "a page"));
    assert_eq!(response.field("Set-Cookie"), ["a=1"]);
}

#[test]
fn hidden_cookies_are_sent_to_no_client() {
    assert_eq!(
        cookies(&format!("{IGNORED} proxy_hide_header Set-Cookie;"), &[]),
        [const { Vec::<String>::new() }; 2]
    );
}

#[test]
fn impersonal_cookie_withheld_from_origin_is_not_overwritten() {
    let sent = [("Cookie", "b=own")];
    let shared = format!("{IGNORED} shared_fetch_headers on; impersonal_cookies b;");
    assert_eq!(cookies(&shared, &sent)[0], ["a=1"]);
    for forwarded in ["impersonal_cookies b;", "shared_fetch_headers Cookie; impersonal_cookies b;"] {
        assert_eq!(cookies(&format!("{IGNORED} {forwarded}"), &sent)[0], ["a=1", "b=2"], "{forwarded}");
    }
}
