//! A 503 of an application in maintenance mode is shown on every URL; a 503 of a failed application is replaced by
//! stale pages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use myriad_tests::{Call, Origin, Request, Server, wait_for};

use super::with;

const OPEN: u8 = 0;
const FAILING: u8 = 1;
const CLOSED: u8 = 2;

const RULES: &str = "fastcgi_cache_valid 200 1h; fastcgi_cache_use_stale error updating http_503;
    fastcgi_cache_background_update on; cache_status on;
    cache_maintenance @DIR@/html/.maintenance;";

/// Starts a site with an application whose state the test changes.
fn start(fields: &'static str) -> (Server, Origin, Arc<AtomicU8>) {
    let state = Arc::new(AtomicU8::new(OPEN));
    let now = Arc::clone(&state);
    let (server, origin) = with(RULES).start(move |call: &mut Call| match now.load(Ordering::SeqCst) {
        OPEN => call.answer(&format!("Content-Type: text/plain\n{fields}"), format!("page {}", call.uri())),
        FAILING => call.answer("Status: 503\nContent-Type: text/plain\nRetry-After: 600", "failed"),
        _ => call.answer(
            "Status: 503\nContent-Type: text/plain\nRetry-After: 600\nX-Myriad-State: maintenance",
            "back soon",
        ),
    });
    (server, origin, state)
}

#[track_caller]
fn shows(server: &Server, target: &str, status: u16, text: &str) {
    let answer = server.get(target);
    assert_eq!((answer.status, answer.text().as_str()), (status, text), "{target}: {}", answer.cache());
    assert_eq!(answer.field("X-Myriad-State"), None, "{target}");
}

#[test]
fn site_that_its_application_closed_is_closed_on_every_url_at_once() {
    let (server, _origin, state) = start("X-None: 1");
    for target in ["/a", "/b", "/c"] {
        shows(&server, target, 200, &format!("page {target}"));
    }
    state.store(CLOSED, Ordering::SeqCst);
    assert_eq!(server.get("/a").cache(), "HIT", "the maintenance has not been detected yet");
    // Any request that reaches the application reveals the state, including a request with a session.
    let session = Request::get("/else").field("Cookie", "PHPSESSID=1");
    assert_eq!(server.fetch(&session).status, 503);
    for target in ["/a", "/b", "/new", "/c", "/a"] {
        shows(&server, target, 503, "back soon");
    }
    state.store(OPEN, Ordering::SeqCst);
    for target in ["/a", "/new", "/c"] {
        shows(&server, target, 200, &format!("page {target}"));
        assert_eq!(server.get(target).cache(), "HIT");
    }
    server.log_has("the application is in maintenance");
}

#[test]
fn failure_is_bridged_by_stale_pages_and_maintenance_is_not() {
    let (server, _origin, state) = start("X-Accel-Expires: 1");
    server.get("/a");
    state.store(FAILING, Ordering::SeqCst);
    wait_for("a stale page", || server.get("/a").cache() == "STALE");
    shows(&server, "/a", 200, "page /a");
    shows(&server, "/new", 503, "failed");
    state.store(CLOSED, Ordering::SeqCst);
    wait_for("the site to be closed", || server.get("/a").status == 503);
    shows(&server, "/a", 503, "back soon");
    state.store(FAILING, Ordering::SeqCst);
    shows(&server, "/a", 200, "page /a");
    state.store(OPEN, Ordering::SeqCst);
    shows(&server, "/a", 200, "page /a");
}

#[test]
fn site_that_is_held_off_after_a_failure_shows_maintenance() {
    let rules = format!("{RULES} origin_backoff 1h;");
    let (server, _origin) = with(&rules).start(|call| {
        call.answer("Status: 503\nContent-Type: text/plain\nX-Myriad-State: maintenance", "back soon");
    });
    for _ in 0..3 {
        shows(&server, "/a", 503, "back soon");
    }
}

#[test]
fn file_shows_that_a_site_without_the_field_is_closed() {
    let (server, _origin, state) = start("X-Accel-Expires: 1");
    server.get("/a");
    state.store(FAILING, Ordering::SeqCst);
    wait_for("a stale page", || server.get("/a").cache() == "STALE");
    let file = server.path("html/.maintenance");
    std::fs::write(&file, "<?php $upgrading = time();").expect("a file");
    shows(&server, "/new", 503, "failed");
    for target in ["/a", "/new", "/a"] {
        shows(&server, target, 503, "failed");
    }
    std::fs::remove_file(&file).expect("the file is removed");
    state.store(OPEN, Ordering::SeqCst);
    shows(&server, "/a", 200, "page /a");
}
