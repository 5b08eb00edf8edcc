//! Tests of the response from a stored page.

use super::support::{CacheResponse, CacheTestSite, fresh_page};
use myriad_serve::testing::variables::variable_value;
use myriad_store::page::testing::PageSpec;

/// Returns the response to a request for a stored page with this status.
fn served(directives: &str, status: u16) -> CacheResponse {
    let error_page = "location = /404.html { return 200 \"error page\"; }";
    let mut site = CacheTestSite::with(directives, error_page);
    site.store("/a", &PageSpec { status, ..fresh_page() });
    site.get("GET /a", &[])
}

#[test]
fn page_becomes_response_with_cache_status_and_age() {
    let mut response = served("", 200);
    assert_eq!((&*response.summary(), &*response.body), ("200 HIT", "stored"));
    assert_eq!(variable_value(&mut response.exchange, "upstream_cache_age").as_deref(), Some("0"));
}

/// Returns the numbers of hits and misses of the worker that served a response.
fn hits_and_misses(response: &CacheResponse) -> (u64, u64) {
    let counters = &response.exchange.request.site.worker.counters;
    (counters.hits.get(), counters.misses.get())
}

#[test]
fn hits_are_requests_answered_with_a_stored_page() {
    let intercepts = "proxy_intercept_errors on; error_page 404 /404.html;";
    for (directives, status, expected) in [("", 200, (1, 0)), ("", 206, (0, 0)), (intercepts, 404, (0, 0))] {
        assert_eq!(hits_and_misses(&served(directives, status)), expected, "{directives} {status}");
    }
    let mut site = CacheTestSite::new("proxy_cache_bypass 1;");
    let response = site.get("GET /a", &[]);
    assert_eq!((&*response.summary(), hits_and_misses(&response)), ("200 BYPASS", (0, 1)));
}

#[test]
fn unrequested_partial_content_is_not_served() {
    let response = served("", 206);
    assert_eq!((response.status, &*response.body), (200, "a page"));
    assert_eq!(response.reason.as_deref(), Some("piece"));
}

#[test]
fn stored_error_gets_its_page_where_errors_are_intercepted() {
    let page = "error_page 404 /404.html;";
    let body = |directives: &str| {
        let response = served(directives, 404);
        assert_eq!(response.status, 404);
        response.body
    };
    assert_eq!(body(&format!("proxy_intercept_errors on; {page}")), "error page");
    assert_eq!(body(page), "stored");
    assert_eq!(body("proxy_intercept_errors on;"), "stored");
}
