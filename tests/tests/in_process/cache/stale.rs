//! Tests of requests without a fresh page.

use super::support::{CacheResponse, CacheTestSite};

/// Returns the response to a request; a stale page is stored for it if `stored` is true.
fn response(directives: &str, stored: bool, fields: &[(&str, &str)]) -> CacheResponse {
    let mut site = CacheTestSite::new(directives);
    if stored {
        site.store_stale("/a");
    }
    site.get("GET /a", fields)
}

/// Returns `$upstream_cache_reason` of a response.
fn reason(directives: &str, stored: bool, fields: &[(&str, &str)]) -> Option<String> {
    let response = response(directives, stored, fields);
    assert_eq!((response.status, &*response.body), (200, "a page"));
    response.reason
}

/// Returns the number of requests that the origin gets for two concurrent requests, and whether the second one waits
/// for the fetch of the first one.
fn fetches(directives: &str, stored: bool, fields: &[(&str, &str)]) -> (usize, bool) {
    let mut site = CacheTestSite::new(directives);
    if stored {
        site.store_stale("/a");
    }
    let responses = site.answer_both(site.begin("GET /a", fields), site.begin("GET /a", fields));
    assert!(responses.iter().all(|response| response.body == "a page"));
    (site.origin.requests().len(), responses[1].exchange.request.cache.report.collapsed)
}

#[test]
fn missing_or_expired_page_is_fetched_once() {
    assert_eq!(response("", false, &[]).summary(), "200 MISS");
    assert_eq!(response("", true, &[]).summary(), "200 EXPIRED");
    for stored in [false, true] {
        assert_eq!(fetches("", stored, &[]), (1, true));
    }
}

#[test]
fn stale_page_is_served_during_refresh_if_configured() {
    let directives = "proxy_cache_use_stale updating; proxy_cache_background_update on;";
    let mut site = CacheTestSite::new(directives);
    site.store_stale("/a");
    let stale = site.get("GET /a", &[]);
    assert_eq!((&*stale.summary(), &*stale.body), ("200 STALE", "stored"));
    let refreshed = site.get("GET /a", &[]);
    assert_eq!((&*refreshed.summary(), &*refreshed.body), ("200 HIT", "a page"));
    assert_eq!(response(directives, false, &[]).summary(), "200 MISS");
}

#[test]
fn rarely_requested_page_is_passed() {
    assert_eq!(reason("proxy_cache_min_uses 2;", false, &[]).as_deref(), Some("min_uses"));
    assert_eq!(reason("proxy_cache_min_uses 2;", true, &[]), None);
    let mut site = CacheTestSite::new("proxy_cache_min_uses 2;");
    let statuses = [(); 3].map(|()| site.get("GET /a", &[]).summary());
    assert_eq!(statuses, ["200 MISS", "200 MISS", "200 HIT"]);
}

#[test]
fn request_for_far_range_is_passed() {
    let directives = "proxy_cache_max_range_offset 100;";
    let range = |range| reason(directives, false, &[("Range", range)]);
    assert_eq!(range("bytes=100-").as_deref(), Some("far range"));
    let mut site = CacheTestSite::new(directives);
    assert_eq!(site.get("GET /a", &[("Range", "bytes=99-")]).reason, None);
    assert!(site.page("/a").is_some(), "the complete page is stored");
}

#[test]
fn response_to_authorization_is_not_shared_with_waiters() {
    let fields = &[("Authorization", "Basic YTpi")];
    assert_eq!(fetches("cache_rfc9111 on;", false, fields), (2, false));
    assert_eq!(fetches("cache_rfc9111 on;", false, &[]), (1, true));
}

#[test]
fn unstorable_response_is_passed_through() {
    let directives = "shared_fetch_headers on; proxy_no_cache 1;";
    assert_eq!(reason(directives, false, &[]).as_deref(), Some("no_cache"));
}

#[test]
fn request_for_stored_pages_only_gets_504() {
    let only = &[("Cache-Control", "only-if-cached")];
    assert_eq!(response("cache_rfc9111 on;", false, only).status, 504);
    assert_eq!(response("", false, only).summary(), "200 MISS");
}
