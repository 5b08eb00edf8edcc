//! Limits of stale pages: the origin withdraws the page, its time has expired, or a change has invalidated it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use myriad_tests::{Cached, Origin, Request, Server, Signal, wait_for};

/// Longer than the first page of [`site`] is fresh.
const EXPIRED: Duration = Duration::from_millis(2100);

/// Starts a site whose page, `page 1`, is fresh for a second; then its origin responds with `head`.
fn site(rules: &str, head: &'static str) -> (Server, Origin) {
    let rules = format!("fastcgi_cache_valid 200 1s; {rules}");
    let (server, origin) =
        Cached { server: &rules, key: "page$uri", ..Cached::default() }.start(move |call| {
            if call.number == 1 {
                call.answer("Content-Type: text/plain\nX-Accel-Expires: 1", "page 1");
            } else {
                call.answer(&format!("Content-Type: text/plain\n{head}"), "another");
            }
        });
    assert_eq!(server.get("/").text(), "page 1");
    thread::sleep(EXPIRED);
    (server, origin)
}

/// Waits until the page has been removed, and sends further requests.
fn is_gone(server: &mut Server, origin: &Origin, what: &str) {
    wait_for(&format!("the page's end: {what}"), || server.get("/").text() != "page 1");
    for _ in 0..5 {
        assert_eq!(server.get("/").text(), "another", "{what}");
    }
    assert!(origin.count() >= 2);
    server.restart(Signal::QUIT);
    assert_ne!(server.get("/").text(), "page 1", "{what}: the page was loaded from disk");
}

const BACKGROUND: &str =
    "fastcgi_cache_use_stale updating error http_500; fastcgi_cache_background_update on;";
const IN_FRONT: &str = "fastcgi_cache_use_stale error http_500;";

#[test]
fn a_refresh_that_may_not_be_stored_removes_the_stale_page() {
    for head in [
        "Status: 404 Lost\nCache-Control: no-cache, must-revalidate, max-age=0",
        "Status: 410 Gone\nCache-Control: no-store",
        "Status: 403 Forbidden",
        "Status: 302 Found\nLocation: /wp-login.php\nCache-Control: no-cache",
        "Cache-Control: private",
        "Set-Cookie: visitor=1",
        "Vary: *",
    ] {
        for rules in [BACKGROUND, IN_FRONT] {
            let (mut server, origin) = site(rules, head);
            is_gone(&mut server, &origin, head);
        }
    }
}

#[test]
fn a_refresh_that_may_not_be_stored_removes_the_stale_page_by_rfc_9111_too() {
    let rules = format!("cache_rfc9111 on; {BACKGROUND}");
    let (mut server, origin) = site(&rules, "Status: 404 Lost\nCache-Control: no-store");
    is_gone(&mut server, &origin, "by RFC 9111");
}

#[test]
fn a_softly_purged_page_goes_with_the_refresh_that_may_not_be_stored() {
    let rules = format!("fastcgi_cache_purge on; {BACKGROUND}");
    let (mut server, origin) = site(&rules, "Status: 404 Lost\nCache-Control: no-cache");
    let purged = server.fetch(&Request::new("PURGE", "/").field("X-Soft-Purge", "1"));
    assert_eq!(purged.status, 200);
    is_gone(&mut server, &origin, "softly purged");
}

#[test]
fn every_variant_goes_with_the_page() {
    let rules = format!("fastcgi_cache_valid 200 1s; {BACKGROUND}");
    let gone = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&gone);
    let (server, _origin) = Cached { server: &rules, ..Cached::default() }.start(move |call| {
        if told.load(Ordering::SeqCst) {
            call.answer("Status: 404 Lost\nCache-Control: no-cache", "lost");
        } else {
            let language = call.param("HTTP_ACCEPT_LANGUAGE").to_owned();
            let vary = "Content-Type: text/plain\nVary: Accept-Language, Accept-Encoding";
            call.answer(vary, format!("in {language}"));
        }
    });
    let ask = |language, codings| {
        server.fetch(&Request::get("/").field("Accept-Language", language).accepting(codings))
    };
    let visitors = [("de", "gzip"), ("en", "gzip"), ("de", "deflate"), ("fr", "deflate")];
    for (language, codings) in visitors {
        assert_eq!(ask(language, codings).text(), format!("in {language}"));
    }
    gone.store(true, Ordering::SeqCst);
    thread::sleep(EXPIRED);
    wait_for("the page's end", || ask("de", "gzip").status == 404);
    for (language, codings) in visitors {
        assert_eq!(ask(language, codings).status, 404, "{language} {codings}");
    }
}

#[test]
fn what_use_stale_names_and_what_finds_fault_with_the_request_leave_the_page() {
    for (rules, head) in [
        ("fastcgi_cache_use_stale error http_404;", "Status: 404 Lost\nCache-Control: no-cache"),
        (IN_FRONT, "Status: 400 Bad"),
        (IN_FRONT, "Status: 431 Large"),
        (IN_FRONT, "Status: 503 Busy"),
    ] {
        let (server, mut origin) = site(rules, head);
        server.get("/");
        origin.stop();
        assert_eq!(server.get("/").text(), "page 1", "{head}");
    }
}

/// `no_cache` with a client value does not remove the shared page; with a value of the origin it does.
#[test]
fn no_visitor_can_have_a_page_removed_by_a_condition_of_their_own() {
    let lost = "Status: 404 Lost\nX-Kept-Out: 1";
    for (rules, asked, removed) in [
        ("fastcgi_cache_bypass $arg_own; fastcgi_no_cache $arg_own;", "/?own=1", false),
        ("fastcgi_no_cache $arg_own;", "/?own=1", false),
        ("fastcgi_cache_bypass $arg_own;", "/?own=1", true),
        ("fastcgi_no_cache $upstream_http_x_kept_out;", "/", true),
    ] {
        let (server, mut origin) = site(&format!("{IN_FRONT} {rules}"), lost);
        assert_eq!(server.get(asked).status, 404, "{rules}");
        origin.stop();
        let after = server.get("/");
        assert_eq!(after.text() == "page 1", !removed, "{rules}: {} {}", after.status, after.cache());
    }
}

#[test]
fn request_after_refresh_period_waits_and_gets_stale_page_only_on_failure() {
    let times = "fastcgi_cache_stale 1s 1h;";
    let rules = format!("{BACKGROUND} {times}");
    let (server, _origin) = site(&rules, "X-Accel-Expires: 600");
    thread::sleep(Duration::from_secs(1));
    let answer = server.get("/");
    assert_eq!((answer.cache(), answer.text().as_str()), ("EXPIRED", "another"));

    let (server, mut origin) = site(&rules, "X-Accel-Expires: 600");
    thread::sleep(Duration::from_secs(1));
    origin.stop();
    let answer = server.get("/");
    assert_eq!((answer.cache(), answer.text().as_str()), ("STALE", "page 1"));
}

#[test]
fn after_the_time_for_failures_nothing_stale_is_served() {
    let (server, mut origin) = site(&format!("{BACKGROUND} fastcgi_cache_stale off 1s;"), "Status: 200 OK");
    thread::sleep(Duration::from_secs(1));
    origin.stop();
    // The first request starts a refresh in the background, and is not affected by its failure.
    assert_eq!(server.get("/").text(), "page 1");
    let (server, mut origin) = site(&format!("{IN_FRONT} fastcgi_cache_stale off 1s;"), "Status: 200 OK");
    thread::sleep(Duration::from_secs(1));
    origin.stop();
    assert_eq!(server.get("/").status, 502);
}

/// Starts a site with long-lived pages, whose origin redirects POST requests to `target`.
fn redirecting(rules: &str, target: &'static str) -> (Server, Origin) {
    let rules = format!("fastcgi_cache_valid 200 1h; {BACKGROUND} {rules}");
    let (server, origin) = Cached { server: &rules, ..Cached::default() }.start(move |call| {
        let text = format!("page {}", call.number);
        match call.param("REQUEST_METHOD") {
            "POST" => call.answer(&format!("Status: 302 Found\nLocation: {target}"), ""),
            _ => call.answer("Content-Type: text/plain", text),
        }
    });
    for page in ["/post/", "/post/?utm_source=x", "/other/"] {
        server.get(page);
        assert_eq!(server.get(page).cache(), "HIT");
    }
    (server, origin)
}

#[test]
fn client_redirected_after_change_gets_updated_page() {
    for rules in ["fastcgi_cache_invalidate redirect;", "cache_rfc9111 on;"] {
        for target in ["/post/#comment-5", "http://localhost/post/#comment-5"] {
            let (server, origin) = redirecting(rules, target);
            let old = server.get("/post/").text();
            assert_eq!(server.fetch(&Request::post("/comment", "text=1")).status, 302);
            let asked = origin.count();
            let new = server.get("/post/");
            assert_ne!(new.text(), old, "{rules} {target}: not the stored page, not even once");
            assert!(["EXPIRED", "MISS"].contains(&new.cache()), "{}", new.cache());
            assert_eq!(origin.count(), asked + 1);
            assert_eq!(server.get("/post/").cache(), "HIT");
            assert_eq!(server.get("/other/").cache(), "HIT");
        }
    }
}

#[test]
fn what_a_redirect_made_invalid_stands_in_for_a_failure() {
    let (server, mut origin) = redirecting("fastcgi_cache_invalidate redirect;", "/post/");
    server.fetch(&Request::post("/comment", "text=1"));
    assert_eq!(server.get("/post/?utm_source=x").cache(), "EXPIRED", "the path with any query");
    origin.stop();
    let answer = server.get("/post/");
    assert_eq!((answer.status, answer.cache()), (200, "STALE"));
}

#[test]
fn a_redirect_changes_nothing_elsewhere_nor_where_it_is_not_asked_for() {
    for (rules, target) in [
        ("fastcgi_cache_invalidate redirect;", "http://elsewhere.test/post/"),
        ("fastcgi_cache_invalidate off;", "/post/"),
        ("", "/post/"),
    ] {
        let (server, _origin) = redirecting(rules, target);
        server.fetch(&Request::post("/comment", "text=1"));
        assert_eq!(server.get("/post/").cache(), "HIT", "{rules}");
    }
}

#[test]
fn a_soft_purge_is_counted_from_its_own_time() {
    let rules = "fastcgi_cache_purge on; fastcgi_cache_stale 2s off;";
    let (server, origin) = redirecting(rules, "/");
    let purge = |page| server.fetch(&Request::new("PURGE", page).field("X-Soft-Purge", "1"));
    assert_eq!(purge("/post/").status, 200);
    let purged = Instant::now();
    thread::sleep(Duration::from_secs(3).saturating_sub(purged.elapsed()));
    let asked = origin.count();
    assert_eq!(server.get("/post/").cache(), "EXPIRED", "valid for an hour, but purged three seconds ago");
    assert_eq!(origin.count(), asked + 1);
}
