//! covers: fastcgi_cache_adaptive proxy_cache_adaptive
//! Adaptive validity: pages are valid for half the time for which their content has been equal.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use myriad_tests::{Answer, Origin, Request, Server, wait_for};

use super::with;

/// Starts an origin whose page contains `text`, a different id in each response, and enough other words.
fn start(directives: &str, text: &Arc<Mutex<String>>) -> (Server, Origin) {
    let text = Arc::clone(text);
    with(directives).start(move |call| {
        let words = (0..50).map(|word| format!("<li>word {word}</li>\n")).collect::<Vec<_>>().concat();
        let page =
            format!("<input value=\"Id{}Z\">{words}<b>{}</b>{words}", call.number, text.lock().unwrap());
        call.answer("Content-Type: text/html\nX-Accel-Expires: 3600", page);
    })
}

fn ttl(answer: &Answer) -> u64 {
    let status = answer.field("Cache-Status").unwrap();
    status.split("ttl=").nth(1).unwrap().split(';').next().unwrap().parse().unwrap()
}

fn reports(server: &Server) -> usize {
    let log = std::fs::read_to_string(server.path("error.log")).unwrap();
    log.matches("changed without a purge").count()
}

#[test]
fn ids_that_differ_in_each_response_are_no_change_and_another_text_is_reported() {
    let text = Arc::new(Mutex::new("open".to_owned()));
    let (server, origin) = start("fastcgi_cache_adaptive 1s; fastcgi_cache_background_update on;", &text);
    assert_eq!(server.get("/a").cache(), "MISS");
    assert_eq!(server.get("/a").cache(), "HIT");
    // The first refresh differs, so that the page is fetched again; later refreshes are equal except for the id.
    wait_for("three more refreshes", || {
        server.get("/a");
        origin.count() >= 6
    });
    assert_eq!(reports(&server), 0);
    *text.lock().unwrap() = "closed".to_owned();
    wait_for("the change", || server.get("/a").text().contains("closed"));
    server.log_has("page \"localhost/a\" changed without a purge: \"");
    server.log_has("<b>closed</b>");
    assert_eq!(reports(&server), 1);
}

#[test]
fn new_pages_are_valid_for_the_minimum_and_pages_after_a_purge_for_ten_seconds() {
    let text = Arc::new(Mutex::new(String::new()));
    let rules = "fastcgi_cache_adaptive 10m; fastcgi_cache_purge on; cache_status on;";
    let (server, origin) = start(rules, &text);
    server.get("/a");
    let valid = ttl(&server.get("/a"));
    assert!((500..=600).contains(&valid), "{valid}");
    assert_eq!(server.fetch(&Request::new("PURGE", "/a")).status, 200);
    server.get("/a");
    assert!(ttl(&server.get("/a")) <= 10);
    server.get("/b");
    assert!(ttl(&server.get("/b")) > 500, "this page was not purged");
    assert_eq!(origin.count(), 3);
}

#[test]
fn validity_begins_with_the_request_to_the_origin() {
    let (server, _origin) = with("fastcgi_cache_adaptive 10m; cache_status on;").start(|call| {
        // The page may lack changes that were made during this time.
        std::thread::sleep(Duration::from_millis(2500));
        call.answer("Content-Type: text/html\nX-Accel-Expires: 3600", "page");
    });
    server.get("/a");
    let valid = ttl(&server.get("/a"));
    assert!((500..=597).contains(&valid), "{valid}");
}

#[test]
fn shorter_and_configured_validities_stay() {
    let (server, _origin) = with("fastcgi_cache_adaptive 10m; fastcgi_cache_valid 200 1h; cache_status on;")
        .start(|call| {
            let field = if call.uri() == "/short" { "X-Accel-Expires: 30" } else { "X-None: 1" };
            call.answer(&format!("Content-Type: text/html\n{field}"), "page");
        });
    for target in ["/short", "/configured"] {
        server.get(target);
    }
    assert!(ttl(&server.get("/short")) <= 30);
    assert!(ttl(&server.get("/configured")) > 3000);
}

#[test]
fn noise_is_found_again_after_a_change_that_a_soft_purge_announced() {
    let text = Arc::new(Mutex::new("open".to_owned()));
    let rules = "fastcgi_cache_adaptive 1s; fastcgi_cache_background_update on; fastcgi_cache_purge on; cache_status on;";
    let (server, origin) = start(rules, &text);
    server.get("/a");
    wait_for("the noise", || {
        server.get("/a");
        origin.count() >= 4
    });
    let purge = Request::new("PURGE", "/a").field("X-Soft-Purge", "1");
    assert_eq!(server.fetch(&purge).status, 200);
    *text.lock().unwrap() = "closed".to_owned();
    wait_for("the change", || server.get("/a").text().contains("closed"));
    // Only a page whose content is known to be equal becomes valid for longer than the minimum.
    let mut last = server.get("/a");
    wait_for("a longer validity than the minimum", || {
        last = server.get("/a");
        last.cache() == "HIT" && ttl(&last) >= 2
    });
    assert_eq!(reports(&server), 0);
}

#[test]
fn change_of_an_expired_page_that_a_soft_purge_announced_is_not_reported() {
    let text = Arc::new(Mutex::new("open".to_owned()));
    let rules = "fastcgi_cache_adaptive 1s; fastcgi_cache_use_stale updating; fastcgi_cache_background_update on; fastcgi_cache_purge on;";
    let (server, origin) = start(rules, &text);
    server.get("/a");
    // Pages become stale as of one second before a soft purge.
    std::thread::sleep(Duration::from_millis(2200));
    *text.lock().unwrap() = "closed".to_owned();
    let purge = Request::new("PURGE", "/a").field("X-Soft-Purge", "1");
    assert_eq!(server.fetch(&purge).status, 200);
    let page = server.get("/a");
    assert!(page.cache() == "EXPIRED" && page.text().contains("closed"), "{}", page.cache());
    wait_for("two refreshes", || {
        server.get("/a");
        origin.count() >= 4
    });
    assert_eq!(reports(&server), 0);
}

#[test]
fn old_page_is_served_during_the_refresh_after_a_soft_purge_only() {
    let text = Arc::new(Mutex::new("open".to_owned()));
    let rules = "fastcgi_cache_adaptive 1s; fastcgi_cache_use_stale updating; fastcgi_cache_background_update on; fastcgi_cache_purge on;";
    let (server, _origin) = start(rules, &text);
    server.get("/a");
    let purge = Request::new("PURGE", "/a").field("X-Soft-Purge", "1");
    assert_eq!(server.fetch(&purge).status, 200);
    *text.lock().unwrap() = "closed".to_owned();
    let old = server.get("/a");
    assert!(old.cache() == "STALE" && old.text().contains("open"), "{}", old.cache());
    wait_for("the refreshed page", || server.get("/a").text().contains("closed"));
    // After its expiry, a page waits for PHP instead.
    wait_for("the expiry", || {
        let page = server.get("/a");
        assert_ne!(page.cache(), "STALE");
        page.cache() == "EXPIRED"
    });
}

#[test]
fn pages_with_a_validity_below_the_minimum_are_not_compared() {
    let text = Arc::new(Mutex::new("open".to_owned()));
    let shown = Arc::clone(&text);
    let (server, origin) = with("fastcgi_cache_adaptive 10m;").start(move |call| {
        call.answer(
            "Content-Type: text/html\nX-Accel-Expires: 1",
            format!("<b>{}</b>", shown.lock().unwrap()),
        );
    });
    server.get("/a");
    *text.lock().unwrap() = "closed".to_owned();
    // A comparison would fetch the page again at once, and the fourth response follows its report.
    wait_for("three refreshes after the change", || {
        server.get("/a");
        origin.count() >= 4
    });
    assert_eq!(reports(&server), 0);
}

#[test]
fn counters_of_visits_are_no_change_and_other_text_is() {
    let text = Arc::new(Mutex::new("open".to_owned()));
    let shown = Arc::clone(&text);
    let rules = "fastcgi_cache_adaptive 1s; fastcgi_cache_background_update on; cache_status on;";
    let (server, _origin) = with(rules).start(move |call| {
        // The number is the same in successive responses, so that it is not found as noise.
        let views = call.number / 4;
        let page = format!("<p>{views} views</p><b>{}</b>", shown.lock().unwrap());
        call.answer("Content-Type: text/html\nX-Accel-Expires: 3600\nX-Myriad-State: counters", page);
    });
    server.get("/a");
    wait_for("a longer validity than the minimum, in spite of the counter", || {
        let page = server.get("/a");
        page.cache() == "HIT" && ttl(&page) >= 3
    });
    assert_eq!(reports(&server), 0);
    *text.lock().unwrap() = "closed".to_owned();
    wait_for("the change", || server.get("/a").text().contains("closed"));
    wait_for("the report", || reports(&server) == 1);
}
