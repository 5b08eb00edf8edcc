//! Tests of `Age`.

use myriad_net::clock::now_ms;

use super::support::{CacheResponse, CacheTestSite, fresh_page, stale_page};
use myriad_policy::EntityTag;
use myriad_store::page::testing::PageSpec;

/// Returns `Age` in seconds; `None` without the field.
fn age(response: &CacheResponse) -> Option<u64> {
    response.field("Age").first().map(|value| value.parse().expect("a number"))
}

/// Returns `Age` of a page that was stored 100 seconds ago.
fn age_of_cached_page(directives: &str) -> Option<u64> {
    let mut site = CacheTestSite::new(directives);
    site.store_at("/a", &fresh_page(), now_ms() - 100_000);
    let response = site.get("GET /a", &[]);
    assert_eq!(response.summary(), "200 HIT");
    age(&response)
}

#[test]
fn cached_page_has_age_in_seconds() {
    assert!(age_of_cached_page("").is_some_and(|seconds| (100..110).contains(&seconds)));
}

#[test]
fn fetched_or_revalidated_page_has_no_age() {
    let mut site = CacheTestSite::new("proxy_cache_revalidate on;");
    let fetched = site.get("GET /a", &[]);
    assert_eq!((&*fetched.summary(), age(&fetched)), ("200 MISS", None));
    let tag = EntityTag::from_origin(b"\"tag\"", myriad_encode::Coding::Identity);
    site.store_at("/b", &PageSpec { tag, ..stale_page() }, now_ms() - 100_000);
    site.origin.respond(304, &[("ETag", "\"tag\"")], "");
    let revalidated = site.get("GET /b", &[]);
    assert_eq!((&*revalidated.summary(), age(&revalidated)), ("200 REVALIDATED", None));
}

#[test]
fn age_from_origin_is_continued() {
    let mut site = CacheTestSite::new("");
    site.origin.respond(200, &[("Age", "100")], "a page");
    let fetched = site.get("GET /a", &[]);
    assert_eq!(fetched.summary(), "200 MISS");
    assert!(age(&fetched).is_some_and(|seconds| (100..110).contains(&seconds)), "{}", fetched.head);
}

#[test]
fn hidden_age_is_not_sent() {
    assert_eq!(age_of_cached_page("proxy_hide_header Age;"), None);
}
