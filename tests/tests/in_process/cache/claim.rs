//! Tests of `*_cache_lock`.

use myriad_net::clock::now_ms;

use super::support::{CacheTestSite, fresh_page, write_page};

#[test]
fn page_that_has_come_meanwhile_is_a_hit() {
    let mut site = CacheTestSite::new("");
    site.store("/a", &fresh_page());
    // The look-up considers the page stale. The claim uses the current time.
    assert_eq!(site.get_later("/a", 120_000).summary(), "200 HIT");
    assert!(site.origin.requests().is_empty());
}

#[test]
fn page_being_fetched_is_awaited_up_to_lock_timeout() {
    let mut site = CacheTestSite::new("proxy_cache_lock_timeout 10ms;");
    let writer = site.lead("/a");
    let response = site.get("GET /a", &[]);
    assert_eq!((&*response.body, response.reason.as_deref()), ("a page", Some("lock_timeout")));
    assert!(response.exchange.request.cache.report.collapsed);
    drop(writer);

    let mut site = CacheTestSite::new("proxy_cache_lock_timeout 7s;");
    let (writer, exchange) = (site.lead("/a"), site.begin("GET /a", &[]));
    let response = site.answer_meanwhile(exchange, || write_page(writer, fresh_page().meta(), now_ms()));
    assert_eq!((&*response.body, response.reason), ("stored", None));
    assert!(site.origin.requests().is_empty());
}

#[test]
fn uncacheable_page_is_not_awaited_for_a_while() {
    let mut site = CacheTestSite::new("");
    site.lead("/a").uncacheable(now_ms(), 60_000);
    let [one, two] = site.answer_both(site.begin("GET /a", &[]), site.begin("GET /a", &[]));
    for response in [one, two] {
        assert_eq!(response.summary(), "200 MISS");
        assert!(!response.exchange.request.cache.report.collapsed);
    }
    assert_eq!(site.origin.requests().len(), 2);
}

#[test]
fn each_request_fetches_page_without_lock() {
    let mut site = CacheTestSite::new("proxy_cache_lock off;");
    let _writer = site.lead("/a");
    let response = site.get("GET /a", &[]);
    assert_eq!((&*response.summary(), response.reason), ("200 MISS", None));
    assert!(!response.exchange.request.cache.report.collapsed);
    assert_eq!(site.origin.requests().len(), 1);
}
