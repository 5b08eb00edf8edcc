//! Tests of the look-up of pages.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use myriad_serve::testing::TestFolder;
use myriad_store::page::FolderCreator;
use myriad_store::{DiskLimits, DiskPool};

use super::support::{CacheTestSite, fresh_page};
use super::test_origin::TestOrigin;

/// Maximum time for which a test waits until a page is written to disk.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);

/// Process that creates folders of zones. The folder of a test is never removed while it is in use.
struct NoFolderCreator;

impl FolderCreator for NoFolderCreator {
    fn request_folder(&self, path: &Path) {
        panic!("{} was removed", path.display());
    }
}

#[test]
fn page_that_memory_does_not_have_is_sought_on_disk() {
    let folder = TestFolder::new("cache-look-up");
    let origin = TestOrigin::start();
    let pass = origin.pass();
    let mut site = CacheTestSite::in_folder(&folder.0, origin, &pass, "");
    let zone = site.zone();
    let disks = DiskPool::start(1).expect("a thread");
    let log = &site.begin("GET /", &[]).request.site.runtime.zone_log;
    zone.open(DiskLimits::default(), &disks, log, Arc::new(NoFolderCreator));
    let response = site.get("GET /a", &[]);
    assert_eq!(
        (&*response.summary(), &*response.exchange.request.cache.key),
        ("200 MISS", &b"localhost/a"[..])
    );
    let begin = Instant::now();
    while zone.zone.disk_stats().expect("a disk tier").writes == 0 {
        assert!(begin.elapsed() < WRITE_TIMEOUT, "the page is not written");
        std::thread::sleep(Duration::from_millis(1));
    }
    zone.zone.set_pressure_limit(0);
    assert_eq!(zone.zone.shrink(1), 1);
    zone.zone.set_pressure_limit(usize::MAX);
    assert!(site.page("/a").is_none());
    let response = site.get("GET /a", &[]);
    assert_eq!((&*response.summary(), &*response.body), ("200 HIT", "a page"));
    assert_eq!(site.origin.requests().len(), 1);
}

#[test]
fn fresh_page_is_a_hit_and_one_that_is_over_is_stale() {
    let mut site = CacheTestSite::new("");
    site.store("/fresh", &fresh_page());
    site.store_stale("/stale");
    let answers = ["/fresh", "/stale", "/b"].map(|target| site.get(&format!("GET {target}"), &[]).summary());
    assert_eq!(answers, ["200 HIT", "200 EXPIRED", "200 MISS"]);
}

#[test]
fn request_that_may_neither_read_nor_fill_the_cache_is_passed() {
    let mut site = CacheTestSite::new("");
    site.store("/a", &fresh_page());
    let before = site.page("/a").expect("a page").generation();
    for (request, fields, reason, summary) in [
        ("GET /a", &[("Authorization", "Basic YTpi")][..], "authorization", "200 BYPASS"),
        ("GET /a", &[("Cookie", "wordpress_logged_in_1=x")], "personal cookie", "200 BYPASS"),
        ("GET /a", &[("Upgrade", "websocket")], "upgrade", "200 BYPASS"),
        ("DELETE /a", &[], "method", "200 -"),
    ] {
        let response = site.get(request, fields);
        assert_eq!((&*response.summary(), &*response.body), (summary, "a page"), "{reason}");
        assert_eq!(response.reason.as_deref(), Some(reason));
    }
    assert_eq!(site.page("/a").expect("a page").generation(), before);
}

#[test]
fn bypass_condition_skips_the_look_up_and_no_cache_the_store_too() {
    let mut site = CacheTestSite::new("proxy_cache_bypass $arg_x;");
    site.store("/a?x=1", &fresh_page());
    let bypassed = site.get("GET /a?x=1", &[]);
    assert_eq!((&*bypassed.summary(), bypassed.reason.as_deref()), ("200 BYPASS", Some("cache_bypass")));
    assert_eq!(site.page("/a?x=1").expect("a page").body().len(), 6, "the response replaces the page");
    assert_eq!(site.get("GET /a?x=0", &[]).summary(), "200 MISS");

    let conditions = "shared_fetch_headers on; proxy_cache_bypass $arg_x; proxy_no_cache $arg_x;";
    let mut site = CacheTestSite::new(conditions);
    assert_eq!(site.get("GET /a?x=1", &[("X-Own", "1")]).summary(), "200 BYPASS");
    assert!(site.page("/a?x=1").is_none());
    assert!(site.origin.requests()[0].contains("X-Own: 1"), "the request is sent with all its fields");
}

#[test]
fn head_shares_the_page_of_get() {
    let mut site = CacheTestSite::new("");
    let response = site.get("HEAD /a", &[]);
    assert_eq!(response.summary(), "200 MISS");
    assert!(site.origin.requests()[0].starts_with("GET /a "));
    assert_eq!(site.get("HEAD /a", &[]).summary(), "200 HIT");
    assert_eq!(site.get("GET /a", &[]).summary(), "200 HIT");
}

#[test]
fn variants_are_distinguished_by_vary_fields() {
    let mut site = CacheTestSite::new("");
    site.origin.respond(200, &[("Vary", "Accept-Language")], "a page");
    let german = &[("Accept-Language", "de")];
    assert_eq!(site.get("GET /a", german).summary(), "200 MISS");
    assert_eq!(site.get("GET /a", german).summary(), "200 HIT");
    assert_eq!(site.get("GET /a", &[("Accept-Language", "fr")]).summary(), "200 MISS");
}
