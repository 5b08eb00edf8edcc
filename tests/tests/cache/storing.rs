//! Stored responses, their keys and lifetimes.

use std::fs;

use myriad_tests::{Cached, Origin, Request, Server, wait_for};

use super::{is_stored, numbered, see, seen, with};

#[test]
fn the_second_visitor_gets_the_page_of_the_first() {
    let (server, origin) = Cached::default().start(|call| {
        let text = format!("page {}", call.number);
        call.answer("Content-Type: text/plain\nX-Own: kept\nX-Accel-Buffering: yes\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT", text);
    });
    let first = server.get("/a");
    assert_eq!(seen(&first), ("MISS".into(), "page 1".into()));
    for _ in 0..3 {
        let hit = server.get("/a");
        assert_eq!(seen(&hit), ("HIT".into(), "page 1".into()));
        assert_eq!((hit.field("X-Own"), hit.field("Content-Type")), (Some("kept"), Some("text/plain")));
        assert_eq!(hit.field("Last-Modified"), Some("Sat, 21 Nov 2026 00:00:00 GMT"));
        assert_eq!((hit.field("X-Accel-Buffering"), hit.field("Content-Length")), (None, Some("6")));
    }
    assert_eq!(see(&server, &Request::get("/a?x")), ("MISS".into(), "page 2".into()));
    assert_eq!(see(&server, &Request::get("/a").host("other.test")), ("MISS".into(), "page 3".into()));
    assert_eq!(origin.count(), 3);
}

#[test]
fn the_key_decides_what_is_one_page() {
    let site = Cached { key: "$uri$cookie_theme", ..Cached::default() };
    let (server, origin) = site.start(numbered);
    assert_eq!(server.get("/a?utm_source=x").text(), "page 1");
    assert_eq!(server.get("/a").cache(), "HIT");
    assert_eq!(server.fetch(&Request::get("/a").host("other.test")).cache(), "HIT");
    assert_eq!(server.fetch(&Request::get("/a").field("Cookie", "theme=dark")).cache(), "MISS");
    assert_eq!(server.fetch(&Request::get("/a?x").field("Cookie", "x=1; theme=dark")).cache(), "HIT");
    assert_eq!(origin.count(), 2);
}

#[test]
fn validity_goes_by_status_and_any_stores_no_server_error() {
    let (server, origin) = with(
        "fastcgi_cache_valid 200 1h; fastcgi_cache_valid 404 1h; fastcgi_cache_valid any 1h;",
    )
    .start(|call| {
        let status = call.uri().trim_start_matches('/').to_owned();
        call.answer(&format!("Status: {status}\nContent-Type: text/plain\nLocation: /x"), "page");
    });
    for status in [200, 301, 302, 404, 403, 410] {
        assert!(is_stored(&server, &origin, &Request::get(&format!("/{status}"))), "{status}");
    }
    for status in [500, 502, 503, 504] {
        assert!(!is_stored(&server, &origin, &Request::get(&format!("/{status}"))), "{status}");
    }
    let (server, origin) = with("fastcgi_cache_valid 200 1h;").start(|call| {
        let status = call.uri().trim_start_matches('/').to_owned();
        call.answer(&format!("Status: {status}\nContent-Type: text/plain"), "page");
    });
    assert!(is_stored(&server, &origin, &Request::get("/200")));
    assert!(!is_stored(&server, &origin, &Request::get("/404")));
}

#[test]
fn the_origin_s_own_freshness_comes_first() {
    let (server, origin) = with("fastcgi_cache_valid any 1h;").start(|call| {
        let field = call.param("HTTP_X_FIELD").replace('|', "\n");
        call.answer(&format!("Content-Type: text/plain\n{field}"), "page");
    });
    let cases = [
        ("X-None: 1", true),
        ("X-Accel-Expires: 100", true),
        ("X-Accel-Expires: @9999999999", true),
        ("X-Accel-Expires: 0", false),
        ("X-Accel-Expires: @1", false),
        ("Cache-Control: max-age=60", true),
        ("Cache-Control: public, s-maxage=60, max-age=0", true),
        ("Cache-Control: max-age=0", false),
        ("Cache-Control: no-cache", false),
        ("Cache-Control: no-store", false),
        ("Cache-Control: private", false),
        ("Cache-Control: PRIVATE, max-age=60", false),
        ("Expires: Thu, 01 Jan 1970 00:00:01 GMT", false),
        ("Expires: Thu, 31 Dec 2099 00:00:00 GMT", true),
        ("X-Accel-Expires: 100|Cache-Control: no-cache", true),
        ("Vary: *", false),
        ("Set-Cookie: a=1", false),
    ];
    for (number, (field, expected)) in cases.into_iter().enumerate() {
        let request = Request::get(&format!("/{number}")).field("X-Field", field);
        assert_eq!(is_stored(&server, &origin, &request), expected, "{field}");
    }
}

#[test]
fn ignored_fields_do_not_count() {
    let site = with(
        "fastcgi_cache_valid 200 1h; fastcgi_ignore_headers Cache-Control Expires X-Accel-Expires Vary;",
    );
    let (server, origin) = site.start(|call| {
        let field = call.param("HTTP_X_FIELD").to_owned();
        call.answer(&format!("Content-Type: text/plain\n{field}"), "page");
    });
    for (number, field) in
        ["Cache-Control: no-cache", "Expires: Thu, 01 Jan 1970 00:00:01 GMT", "X-Accel-Expires: 0", "Vary: *"]
            .into_iter()
            .enumerate()
    {
        assert!(
            is_stored(&server, &origin, &Request::get(&format!("/{number}")).field("X-Field", field)),
            "{field}"
        );
    }
}

#[test]
fn expired_page_is_fetched_again() {
    let (server, origin) = Cached::default().start(|call| {
        let (text, valid_s) = (format!("page {}", call.number), if call.number == 1 { 1 } else { 600 });
        call.answer(&format!("Content-Type: text/plain\nX-Accel-Expires: {valid_s}"), text);
    });
    assert_eq!(server.get("/").text(), "page 1");
    let mut answer = server.get("/");
    wait_for("the end of its validity", || {
        answer = server.get("/");
        answer.cache() != "HIT"
    });
    assert_eq!(seen(&answer), ("EXPIRED".into(), "page 2".into()));
    assert_eq!(see(&server, &Request::get("/")), ("HIT".into(), "page 2".into()));
    assert_eq!(origin.count(), 2);
}

#[test]
fn bypass_does_not_read_and_no_cache_does_not_write() {
    let (server, origin) = with(
        "fastcgi_cache_valid 200 1h; fastcgi_cache_bypass $arg_bypass $http_x_bypass; fastcgi_no_cache $arg_skip $http_x_skip;",
    )
    .start(numbered);
    let page = |field: &str, value: &str| Request::get("/a").field(field, value);
    assert_eq!(see(&server, &page("X-Skip", "1")), ("MISS".into(), "page 1".into()));
    assert_eq!(see(&server, &page("X-None", "1")), ("MISS".into(), "page 2".into()));
    assert_eq!(see(&server, &page("X-Skip", "1")), ("HIT".into(), "page 2".into()));
    assert_eq!(see(&server, &page("X-Bypass", "0")), ("HIT".into(), "page 2".into()));
    assert_eq!(see(&server, &page("X-Bypass", "1")), ("BYPASS".into(), "page 3".into()));
    assert_eq!(
        see(&server, &page("X-None", "1")),
        ("HIT".into(), "page 3".into()),
        "a bypass refreshes the page"
    );
    let both = page("X-Bypass", "1").field("X-Skip", "1");
    assert_eq!(see(&server, &both), ("BYPASS".into(), "page 4".into()));
    assert_eq!(see(&server, &page("X-None", "1")), ("HIT".into(), "page 3".into()));
    assert_eq!(origin.count(), 4);
}

#[test]
fn only_what_cache_methods_name_is_stored() {
    let (server, origin) = Cached::default().start(numbered);
    assert!(!is_stored(&server, &origin, &Request::post("/a", "x")));
    assert!(!is_stored(&server, &origin, &Request::new("PUT", "/a")));
    assert!(is_stored(&server, &origin, &Request::get("/a")));
    let site = Cached {
        key: "$request_method$request_uri$request_body",
        server: "fastcgi_cache_valid 1h; fastcgi_cache_methods POST;",
        ..Cached::default()
    };
    let (server, origin) = site.start(|call| {
        let text = String::from_utf8_lossy(&call.body).into_owned();
        call.answer("Content-Type: text/plain", text);
    });
    assert!(is_stored(&server, &origin, &Request::post("/a", "one")));
    assert_eq!(server.fetch(&Request::post("/a", "two")).text(), "two");
}

#[test]
fn a_page_is_stored_from_its_nth_use_on() {
    let (server, origin) = with("fastcgi_cache_valid 1h; fastcgi_cache_min_uses 3;").start(numbered);
    let statuses: Vec<_> = (0..5).map(|_| server.get("/a").cache().to_owned()).collect();
    assert_eq!(statuses, ["MISS", "MISS", "MISS", "HIT", "HIT"]);
    assert_eq!(origin.count(), 3);
}

#[test]
fn a_head_answer_is_never_stored_for_get() {
    let site = Cached { key: "$scheme$host$request_uri", ..Cached::default() };
    let (server, _origin) = site.start(|call| {
        let body = if call.param("REQUEST_METHOD") == "HEAD" { "" } else { "a body" };
        call.answer("Content-Type: text/plain\nX-Method: m", body);
    });
    for _ in 0..3 {
        assert_eq!(server.fetch(&Request::head("/a")).status, 200);
    }
    assert_eq!(server.get("/a").text(), "a body");
    let mut client = server.connect();
    let head = client.fetch(&Request::head("/a"));
    assert_eq!(
        (head.cache(), head.field("Content-Length")),
        ("HIT", Some("6")),
        "a stored page answers HEAD too"
    );
    assert_eq!(client.fetch(&Request::get("/a")).text(), "a body");
}

#[test]
fn a_large_page_comes_from_the_cache_unharmed() {
    let mut random = fastrand::Rng::with_seed(5);
    let mut bytes = vec![0; 3_000_000];
    random.fill(&mut bytes);
    let page = bytes.clone();
    let (server, origin) =
        Cached::default().start(move |call| call.answer("Content-Type: application/x-large", &page));
    for expected in ["MISS", "HIT", "HIT"] {
        let answer = server.get("/large");
        assert_eq!(answer.cache(), expected);
        assert!(answer.body == bytes);
    }
    assert_eq!(origin.count(), 1);
}

#[test]
fn a_page_that_breaks_off_is_not_stored() {
    let (server, origin) = Cached::default().start(|call| {
        let length = if call.uri() == "/length" { "Content-Length: 1000\n" } else { "" };
        call.answer(&format!("{length}Content-Type: text/plain"), "the beginning");
        call.hang_up();
    });
    for target in ["/length", "/end"] {
        for round in 1..=2 {
            let answer = server.connect().try_fetch(&Request::get(target));
            assert!(
                !answer.as_ref().is_ok_and(|answer| answer.status == 200),
                "{target}, round {round}: {answer:?}"
            );
        }
    }
    assert_eq!(origin.count(), 4, "{:?}", origin.calls());
}

#[test]
fn a_page_shorter_than_its_content_length_is_not_stored() {
    let (server, origin) = Cached::default()
        .start(|call| call.answer("Content-Type: text/plain\nContent-Length: 1000", "short"));
    for _ in 0..2 {
        let answer = server.connect().try_fetch(&Request::get("/"));
        assert!(!answer.as_ref().is_ok_and(|answer| answer.status == 200), "{answer:?}");
    }
    assert_eq!(origin.count(), 2);
}

#[test]
fn memory_stays_within_its_cap_under_a_flood() {
    let site = Cached { zone: "memory=1m max_size=1m", ..Cached::default() };
    let (server, origin) = site.start(|call| {
        let text = call.uri().repeat(20_000 / call.uri().len());
        call.answer("Content-Type: application/x-flood", text);
    });
    let resident = || {
        let worker = server.workers()[0];
        let text = fs::read_to_string(format!("/proc/{worker}/status")).expect("status");
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
        line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
    };
    let flood = |pages: std::ops::Range<usize>| {
        let mut client = server.connect();
        for number in pages {
            if number % 500 == 0 {
                client = server.connect(); // before keepalive_requests closes it
            }
            let target = format!("/{number}");
            let answer = client.fetch(&Request::get(&target));
            assert!(answer.status == 200 && answer.body.starts_with(target.as_bytes()));
        }
    };
    flood(0..300); // twenty kilobytes each: six times the capacity
    let before = resident();
    flood(300..3000);
    assert!(resident() < before + (16 << 20), "{} and then {} bytes for a zone of 1 MB", before, resident());
    let count = origin.count();
    flood(2990..3000);
    assert_eq!(origin.count(), count, "the latest pages are still stored");
    flood(0..10);
    assert_eq!(origin.count(), count + 10, "the first pages have been evicted");
}

#[test]
fn pages_are_shared_between_workers_and_survive_the_visitors_connections() {
    let site = Cached { main: "worker_processes 2;", ..Cached::default() };
    let (server, origin) = site.start(numbered);
    assert_eq!(server.get("/a").text(), "page 1");
    for _ in 0..40 {
        assert_eq!(see(&server, &Request::get("/a")), ("HIT".into(), "page 1".into()));
    }
    assert_eq!(origin.count(), 1);
}

#[test]
fn access_log_records_cache_status_and_upstream() {
    let server =
        "fastcgi_cache_valid 1h; access_log @DIR@/cache.log own; fastcgi_cache_bypass $http_x_bypass;";
    let site = with(server);
    let origin = Origin::start(numbered);
    let mut place = myriad_tests::Place::new();
    place.set("ORIGIN", &origin.address);
    let http = format!(
        "log_format own '$uri $upstream_cache_status $upstream_status $upstream_addr';\n{}",
        site.http()
    );
    let server = Server::start(place, &http);
    for (target, bypass) in [("/a", ""), ("/a", ""), ("/a", "1")] {
        server.fetch(&Request::get(target).field("X-Bypass", bypass));
    }
    wait_for("three lines", || server.read("cache.log").lines().count() == 3);
    let address = &origin.address;
    assert_eq!(
        server.read("cache.log"),
        format!("/a MISS 200 {address}\n/a HIT - -\n/a BYPASS 200 {address}\n")
    );
}
