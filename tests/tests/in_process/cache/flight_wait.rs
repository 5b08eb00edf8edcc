//! Tests of the wait for a page in flight.

use super::support::{CacheResponse, CacheTestSite, stale_page};
use super::test_origin::{OriginReply, TestOrigin};
use myriad_encode::Coding;
use myriad_policy::EntityTag;
use myriad_store::page::testing::PageSpec;

/// Maximum number of times that a request claims a page again.
const RETRIES: u8 = 3;

/// Returns the responses to the request that fetches a page and to a concurrent one, if the origin does not respond.
fn timed_out(directives: &str, stored: bool) -> [CacheResponse; 2] {
    let mut site = CacheTestSite::new(&format!("proxy_read_timeout 100ms; {directives}"));
    if stored {
        site.store_stale("/a");
    }
    site.origin.respond_with(|_| OriginReply::Silent);
    let responses = site.answer_both(site.begin("GET /a", &[]), site.begin("GET /a", &[]));
    assert_eq!(site.origin.requests().len(), 1);
    assert_eq!(
        responses.each_ref().map(|response| response.exchange.request.cache.report.collapsed),
        [false, true]
    );
    responses
}

#[test]
fn failed_fetch_returns_its_status() {
    assert_eq!(timed_out("", false).map(|response| response.status), [504, 504]);
}

#[test]
fn stale_page_stands_in_for_the_failures_that_the_rules_name() {
    for (directives, expected) in [
        ("proxy_cache_use_stale timeout;", "200 STALE"),
        ("proxy_cache_use_stale invalid_header;", "504 EXPIRED"),
    ] {
        let summaries = timed_out(directives, true).map(|response| response.summary());
        assert_eq!(summaries, [expected, expected]);
    }
}

#[test]
fn page_that_may_not_be_stored_is_asked_for_by_each() {
    let mut site = CacheTestSite::new("");
    site.origin.respond(200, &[("Cache-Control", "no-store")], "a page");
    let [leader, waiter] = site.answer_both(site.begin("GET /a", &[]), site.begin("GET /a", &[]));
    assert_eq!(leader.reason.as_deref(), Some("cache-control"));
    assert_eq!(waiter.reason.as_deref(), Some("not shared"));
    assert!(waiter.exchange.request.cache.report.collapsed);
    assert_eq!((&*waiter.body, site.origin.requests().len()), ("a page", 2));
}

#[test]
fn abandoned_fetch_is_retried_a_bounded_number_of_times() {
    for (retries, reason, expected_retries) in [(0, None, 1), (RETRIES, Some("not shared"), RETRIES)] {
        let mut site = CacheTestSite::new("");
        let (writer, mut exchange) = (site.lead("/a"), site.begin("GET /a", &[]));
        exchange.request.cache.lookup.retries = retries;
        let response = site.answer_meanwhile(exchange, || drop(writer));
        assert_eq!((&*response.body, response.reason.as_deref()), ("a page", reason));
        assert_eq!(response.exchange.request.cache.lookup.retries, expected_retries);
        assert_eq!(site.page("/a").is_some(), reason.is_none(), "only a claimed page is stored");
    }
}

#[test]
fn waiter_fetches_separately_after_lock_timeout() {
    let mut site = CacheTestSite::new("proxy_cache_lock_timeout 1ms;");
    let _writer = site.lead("/a");
    let response = site.get("GET /a", &[]);
    assert_eq!((&*response.body, response.reason.as_deref()), ("a page", Some("lock_timeout")));
    assert!(site.page("/a").is_none());
}

#[test]
fn leader_of_failed_fetch_gets_its_status_or_stale_page() {
    let summary = |directives: &str, stored: bool| {
        let mut site = CacheTestSite::new(directives);
        if stored {
            site.store_stale("/a");
        }
        site.origin.respond_with(|_| OriginReply::Close);
        site.get("GET /a", &[]).summary()
    };
    assert_eq!(summary("", false), "502 MISS");
    assert_eq!(summary("proxy_cache_use_stale error;", true), "200 STALE");
}

#[test]
fn leader_of_unstarted_fetch_gets_500() {
    // The variable evaluates to no upstream group or address.
    let pass = "fastcgi_pass $arg_upstream; fastcgi_cache ONE;";
    let mut site = CacheTestSite::of(TestOrigin::start(), pass, "");
    assert_eq!(site.get("GET /a", &[]).summary(), "500 MISS");
}

#[test]
fn leader_fetches_separately_when_shared_fetch_is_insufficient() {
    // The shared fetch does not send the cookie, and its response may not be shared.
    let mut site = CacheTestSite::new("shared_fetch_headers on;");
    site.origin.respond(200, &[("Cache-Control", "no-store")], "a page");
    let response = site.get("GET /a", &[("Cookie", "theme=dark")]);
    assert_eq!((&*response.body, response.reason.as_deref()), ("a page", Some("not shared")));
    let has_cookie = |request: &String| request.contains("theme=dark");
    assert_eq!(site.origin.requests().iter().map(has_cookie).collect::<Vec<_>>(), [false, true]);

    // The stored page is confirmed for one client only.
    let mut site = CacheTestSite::new("proxy_cache_revalidate on;");
    site.store("/a", &PageSpec { tag: tag(), ..stale_page() });
    site.origin.respond_with(|request| {
        if request.contains("If-None-Match") {
            OriginReply::response(304, &[("Cache-Control", "private")], b"")
        } else {
            OriginReply::response(200, &[("Cache-Control", "private")], b"own page")
        }
    });
    let response = site.get("GET /a", &[]);
    assert_eq!((&*response.body, response.reason.as_deref()), ("own page", Some("not shared")));
}

#[test]
fn leader_of_another_variant_claims_its_own() {
    let mut site = CacheTestSite::new("shared_fetch_headers on;");
    site.origin.respond(200, &[("Vary", "Accept-Language")], "a page");
    let response = site.get("GET /a", &[("Accept-Language", "de")]);
    assert_eq!((&*response.summary(), response.reason), ("200 MISS", None));
    assert_eq!(response.exchange.request.cache.varies.as_deref(), Some(&b"accept-language"[..]));
    let has_language = |request: &String| request.contains("Accept-Language: de");
    assert_eq!(site.origin.requests().iter().map(has_language).collect::<Vec<_>>(), [false, true]);
    assert_eq!(site.get("GET /a", &[("Accept-Language", "de")]).summary(), "200 HIT");
}

#[test]
fn leader_of_confirmed_page_is_revalidated() {
    let mut site = CacheTestSite::new("proxy_cache_revalidate on;");
    site.store("/a", &PageSpec { tag: tag(), ..stale_page() });
    site.origin.respond(304, &[("ETag", "\"tag\"")], "");
    let response = site.get("GET /a", &[]);
    assert_eq!((&*response.summary(), &*response.body), ("200 REVALIDATED", "stored"));
}

/// Returns an entity tag of the origin.
fn tag() -> Option<EntityTag> {
    EntityTag::from_origin(b"\"tag\"", Coding::Identity)
}
