//! Tests of `origin_backoff` for pages of a cache.

use std::sync::{Mutex, mpsc};

use super::support::CacheTestSite;
use super::test_origin::{OriginReply, TestOrigin};

/// Failure of an origin.
#[derive(Clone, Copy, Debug)]
enum Failure {
    /// Status of its response.
    Status(u16),
    /// It does not respond in time.
    Timeout,
}

/// Makes the origin fail.
fn fail(origin: &TestOrigin, failure: Failure) {
    match failure {
        Failure::Status(status) => origin.respond(status, &[], ""),
        Failure::Timeout => origin.respond_with(|_| OriginReply::Silent),
    }
}

/// Returns the summary of the second request after a failure, and whether the origin got that request. `target` must
/// be unique, because all tests share the table of failures.
fn after_failure(target: &str, directives: &str, stored: bool, failure: Failure) -> (String, bool) {
    let mut site = CacheTestSite::new(&format!("proxy_read_timeout 100ms; {directives}"));
    fail(&site.origin, failure);
    if stored {
        site.store_stale(target);
    }
    let request = format!("GET {target}");
    let first = site.get(&request, &[]);
    assert_eq!(site.origin.requests().len(), 1, "{}", first.summary());
    let second = site.get(&request, &[]);
    (second.summary(), site.origin.requests().len() > 1)
}

#[test]
fn page_that_has_failed_is_left_alone_until_it_succeeds() {
    let backoff = "origin_backoff 1h;";
    let summary = |(summary, is_fetched): (String, bool)| format!("{summary}, fetched: {is_fetched}");
    for (target, directives, failure, expected) in [
        ("/timeout", backoff, Failure::Timeout, "503 MISS, fetched: false"),
        ("/500", backoff, Failure::Status(500), "503 MISS, fetched: false"),
        ("/404", backoff, Failure::Status(404), "404 MISS, fetched: true"),
        ("/off", "", Failure::Status(500), "500 MISS, fetched: true"),
    ] {
        assert_eq!(summary(after_failure(target, directives, false, failure)), expected, "{target}");
    }
}

#[test]
fn success_ends_the_pause_after_a_failure() {
    // Without lock, a fetch that began before the failure can succeed after it.
    let mut site = CacheTestSite::new("proxy_cache_lock off; origin_backoff 1h; proxy_no_cache 1;");
    let (release, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    site.origin.respond_with(move |request| {
        if request.contains("X-Slow: 1") {
            gate.lock().expect("no thread panicked").recv().expect("the test releases the response");
            OriginReply::response(200, &[], b"a page")
        } else {
            OriginReply::response(500, &[], b"")
        }
    });
    let slow = site.begin("GET /success", &[("X-Slow", "1")]);
    let [failed, paused] = [(); 2].map(|()| site.begin("GET /success", &[]));
    let (slow, others) = site.answer_during(slow, [failed, paused], move || {
        release.send(()).expect("the origin waits");
    });
    assert_eq!(slow.status, 200);
    assert_eq!(others.iter().map(|response| response.status).collect::<Vec<_>>(), [500, 503]);
    assert_eq!(site.get("GET /success", &[]).status, 500, "the origin is asked again");
}

#[test]
fn application_503_with_retry_after_is_not_replaced_unless_stale_page_exists() {
    for (target, stored, expected) in
        [("/maintenance", false, ("503 MISS", 2)), ("/maintenance-stale", true, ("200 STALE", 1))]
    {
        let mut site = CacheTestSite::new("origin_backoff 1h; proxy_cache_use_stale http_503;");
        site.origin.respond(503, &[("Retry-After", "600")], "maintenance");
        if stored {
            site.store_stale(target);
        }
        let summaries = [(); 2].map(|()| {
            let response = site.get(&format!("GET {target}"), &[]);
            assert_eq!(response.body, if stored { "stored" } else { "maintenance" });
            response.summary()
        });
        assert_eq!((&*summaries[1], site.origin.requests().len()), expected);
    }
}

#[test]
fn stale_page_is_served_where_the_rules_name_the_failure() {
    for (target, rule, failure, expected) in [
        ("/stale-500", "http_500", Failure::Status(500), "200 STALE"),
        ("/stale-503", "http_503", Failure::Status(500), "503 EXPIRED"),
        ("/stale-timeout", "timeout", Failure::Timeout, "200 STALE"),
    ] {
        let directives = format!("origin_backoff 1h; proxy_cache_use_stale {rule};");
        let second = after_failure(target, &directives, true, failure);
        assert_eq!((&*second.0, second.1), (expected, false), "{rule}");
    }
}
