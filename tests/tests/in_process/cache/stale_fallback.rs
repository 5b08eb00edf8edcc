//! Tests of stale pages in place of failed responses (`*_cache_use_stale`).

use super::support::{CacheTestSite, fresh_page};
use super::test_origin::OriginReply;

/// Returns a site without lock whose origin responds with status 500.
fn failing(directives: &str) -> CacheTestSite {
    let site = CacheTestSite::new(&format!("proxy_cache_lock off; {directives}"));
    site.origin.respond(500, &[], "");
    site
}

#[test]
fn stale_page_is_served_for_the_statuses_that_the_rules_name() {
    for (directives, expected) in [
        ("proxy_cache_use_stale http_500;", "200 STALE"),
        ("proxy_cache_use_stale http_503;", "500 EXPIRED"),
        ("", "500 EXPIRED"),
    ] {
        let mut site = failing(directives);
        site.store_stale("/a");
        assert_eq!(site.get("GET /a", &[]).summary(), expected, "{directives}");
    }
}

#[test]
fn page_of_another_key_is_stale_however_fresh_it_is() {
    let directives = "proxy_cache_use_stale http_500;";
    // The page is stale when the request arrives, and fresh again by the time of the failure.
    let mut site = failing(directives);
    site.store("/a", &fresh_page());
    assert_eq!(site.get_later("/a", 120_000).summary(), "200 HIT");
    assert_eq!(site.origin.requests().len(), 1);

    for (directives, expected) in [(directives, "200 STALE"), ("", "500 MISS")] {
        let mut site = CacheTestSite::new(directives);
        site.origin.respond(200, &[("Vary", "Accept-Encoding")], "a page");
        assert_eq!(site.get("GET /a", &[]).summary(), "200 MISS");
        site.origin.respond(500, &[], "");
        let response = site.get("GET /a", &[("Accept-Encoding", "deflate")]);
        assert_eq!(response.summary(), expected, "{directives}");
        assert_eq!(response.exchange.request.cache.key, b"localhost/a\0codings");
    }
}

#[test]
fn failure_without_stored_page_is_returned() {
    let mut site = CacheTestSite::new("proxy_cache_use_stale error;");
    site.origin.respond_with(|_| OriginReply::Close);
    assert_eq!(site.get("GET /a", &[]).summary(), "502 MISS");
}
