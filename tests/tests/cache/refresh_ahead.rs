//! covers: fastcgi_cache_adaptive fastcgi_cache_background_update
//! Refresh of frequently requested pages without a request of a client, when they expire and after purges.

use std::sync::{Arc, Mutex};

use myriad_tests::{Cached, Call, Request, Server, wait_for};

use super::with;

const RULES: &str = "fastcgi_cache_adaptive 10s; fastcgi_cache_background_update on; fastcgi_cache_purge on;
    fastcgi_cache_use_stale error http_500; cache_status on; access_log @DIR@/access.log;";
/// Number of requests after which a page is requested often enough.
const OFTEN: usize = 12;

fn answer(call: &mut Call) {
    call.answer("Content-Type: text/html\nX-Accel-Expires: 3600", "page");
}

fn request_often(server: &Server, target: &str) {
    let visitor = Request::get(target).field("Cookie", "a=b").field("User-Agent", "Visitor/1.0");
    for _ in 0..OFTEN {
        server.fetch(&visitor);
    }
}

#[test]
fn page_that_is_requested_often_is_refreshed_before_it_expires_without_a_visitor() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let calls = Arc::clone(&seen);
    let (server, origin) = with(&format!(
        "{RULES} shared_fetch_headers on; fastcgi_param REMOTE_ADDR $remote_addr;"
    ))
    .start(move |call| {
        calls.lock().unwrap().push(call.all_params());
        answer(call);
    });
    request_often(&server, "/often?a=1");
    server.get("/seldom");
    wait_for("the refresh", || origin.count() >= 3);
    assert_eq!(origin.calls(), ["GET /often?a=1", "GET /seldom", "GET /often?a=1"]);
    let params = seen.lock().unwrap()[2].clone();
    // No application trusts an address that is reserved for documentation.
    assert!(params.contains("192.0.2.1"), "{params}");
    for absent in ["HTTP_COOKIE", "Visitor/1.0"] {
        assert!(!params.contains(absent), "{params}");
    }
    let mut requests = OFTEN + 1;
    wait_for("the refreshed page", || {
        requests += 1;
        server.get("/often?a=1").cache() == "HIT"
    });
    assert_eq!(origin.count(), 3);
    let logged = || std::fs::read_to_string(server.path("access.log")).unwrap().lines().count();
    wait_for("the log", || logged() >= requests);
    assert_eq!(logged(), requests, "a refresh is no request of a client");
}

#[test]
fn purged_page_is_fetched_again_and_nobody_gets_the_old_page() {
    let text = Arc::new(Mutex::new("old"));
    let shown = Arc::clone(&text);
    let (server, origin) = with(RULES).start(move |call| {
        let text = *shown.lock().unwrap();
        call.answer("Content-Type: text/html\nX-Accel-Expires: 3600", text);
    });
    request_often(&server, "/a");
    let purge = Request::new("PURGE", "/a").field("X-Soft-Purge", "1");
    *text.lock().unwrap() = "new";
    assert_eq!(server.fetch(&purge).status, 200);
    wait_for("the refresh", || origin.finished() >= 2);
    assert_eq!(server.get("/a").text(), "new");
    assert_eq!(origin.calls()[1], "GET /a");
}

#[test]
fn page_that_a_visitor_without_cookies_does_not_get_is_not_refreshed() {
    let rules = format!("{RULES} if ($http_x_group) {{ set $group $http_x_group; }}");
    let (server, origin) =
        Cached { key: "$host$request_uri$group", server: &rules, ..Cached::default() }.start(answer);
    for _ in 0..OFTEN {
        server.fetch(&Request::get("/a").field("X-Group", "staff"));
    }
    request_often(&server, "/b");
    wait_for("the refresh of the other page", || origin.count() >= 3);
    assert_eq!(origin.calls(), ["GET /a", "GET /b", "GET /b"]);
}

#[test]
fn page_of_a_location_with_restricted_access_is_not_refreshed() {
    let rules =
        format!("{RULES} allow 127.0.0.1; deny all; location /open {{ allow all; fastcgi_pass @ORIGIN@; }}");
    let (server, origin) = with(&rules).start(answer);
    request_often(&server, "/restricted");
    request_often(&server, "/open");
    wait_for("the refresh of the other page", || origin.count() >= 3);
    assert_eq!(origin.calls(), ["GET /restricted", "GET /open", "GET /open"]);
}

#[test]
fn page_behind_a_proxy_that_terminates_tls_is_refreshed() {
    let http =
        "forwarded_scheme_from 127.0.0.0/8; set_real_ip_from 127.0.0.0/8; real_ip_header X-Forwarded-For;";
    let (server, origin) = Cached { http, server: RULES, ..Cached::default() }.start(answer);
    let visitor =
        Request::get("/a").field("X-Forwarded-Proto", "https").field("X-Forwarded-For", "203.0.113.7");
    for _ in 0..OFTEN {
        server.fetch(&visitor);
    }
    wait_for("the refresh", || origin.finished() >= 2);
    assert_eq!(server.fetch(&visitor).cache(), "HIT");
}

#[test]
fn failed_refresh_leaves_the_page_and_is_not_repeated_at_once() {
    let (server, origin) = with(RULES).start(|call| {
        if call.number == 2 {
            call.answer("Status: 500\nContent-Type: text/html", "failure");
        } else {
            answer(call);
        }
    });
    request_often(&server, "/a");
    wait_for("the refresh", || origin.finished() >= 2);
    let after = server.get("/a");
    assert_eq!((after.status, after.text().as_str()), (200, "page"));
    assert!(origin.count() <= 3, "{:?}", origin.calls());
}
