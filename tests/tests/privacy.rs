//! Isolation of visitors: no visitor receives another visitor's page, with any recipe.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use myriad_tests::{Answer, Cached, Call, Client, Request, Server, all_at_once};

fn with(server: &str) -> Cached<'_> {
    Cached { server, ..Cached::default() }
}

/// Sends a page with the name of the visitor, like a site with sessions.
fn greeting(call: &mut Call) {
    let cookie = call.param("HTTP_COOKIE").to_owned();
    let text = format!("hello [{cookie}] {}", call.number);
    call.answer("Content-Type: text/plain", text);
}

fn with_cookie(cookie: &str) -> Request {
    Request::get("/").field("Cookie", cookie)
}

const PERSONAL: &[&str] = &[
    "wordpress_logged_in_0123456789abcdef=admin%7C1",
    "wordpress_sec_abc=x",
    "wordpress_0123456789abcdef=x",
    "wp-postpass_abc=x",
    "comment_author_abc=Ada",
    "woocommerce_items_in_cart=1",
    "woocommerce_cart_hash=abc",
    "wp_woocommerce_session_abc=x",
    "edd_items_in_cart=1",
    "PHPSESSID=abc",
    "bp_x=1",
    "theme=dark; wordpress_logged_in_abc=x; other=1",
];

#[test]
fn personal_cookies_neither_read_nor_fill_a_shared_page_under_any_recipe() {
    for recipe in [
        "fastcgi_cache_valid 1h;",
        "fastcgi_cache_valid 1h; fastcgi_cache_bypass $cookie_wordpress_logged_in;",
        "fastcgi_cache_valid 1h; fastcgi_no_cache $cookie_wordpress_logged_in;",
        "fastcgi_cache_valid any 1h; fastcgi_ignore_headers Cache-Control Expires Set-Cookie Vary;",
        "fastcgi_cache_valid 1h; fastcgi_cache_use_stale updating error; fastcgi_cache_background_update on; fastcgi_cache_lock off;",
    ] {
        let (server, _origin) = with(recipe).start(greeting);
        for cookie in PERSONAL {
            let own = server.fetch(&with_cookie(cookie));
            assert!(own.text().contains(cookie), "{recipe} {cookie}: {}", own.text());
            assert!(matches!(own.cache(), "BYPASS" | "MISS" | "-"), "{recipe} {cookie}: {}", own.cache());
        }
        let stranger = server.get("/");
        assert!(stranger.text().starts_with("hello []"), "{recipe}: {}", stranger.text());
        assert_eq!(server.get("/").cache(), "HIT", "{recipe}");
        for cookie in PERSONAL {
            assert!(
                server.fetch(&with_cookie(cookie)).text().contains(cookie),
                "{recipe} {cookie}: a shared page was read"
            );
        }
        assert_eq!(server.get("/").text(), stranger.text(), "{recipe}: a shared page was filled");
    }
}

#[test]
fn impersonal_cookies_do_not_prevent_sharing() {
    let (server, origin) = Cached::default().start(|call| call.answer("Content-Type: text/plain", "shared"));
    server.get("/");
    for cookie in [
        "wordpress_test_cookie=WP%20Cookie%20check",
        "_ga=GA1.2.3",
        "theme=dark",
        "xwordpress_logged_in=1",
        "notPHPSESSID=1",
        "",
    ] {
        assert_eq!(server.fetch(&with_cookie(cookie)).cache(), "HIT", "{cookie}");
    }
    assert_eq!(origin.count(), 1);
}

#[test]
fn personal_cookies_may_be_turned_off_or_added_to() {
    let (server, _origin) = with("fastcgi_cache_valid 1h; personal_cookies off;").start(greeting);
    server.fetch(&with_cookie("PHPSESSID=1"));
    assert_eq!(server.fetch(&with_cookie("PHPSESSID=2")).cache(), "HIT");
    let (server, _origin) =
        with("fastcgi_cache_valid 1h; personal_cookies default basket_*;").start(greeting);
    server.get("/");
    assert!(server.fetch(&with_cookie("basket_1=full")).text().contains("basket_1=full"));
    assert!(server.fetch(&with_cookie("PHPSESSID=2")).text().contains("PHPSESSID=2"));
    assert_eq!(server.get("/").cache(), "HIT");
}

#[test]
fn a_key_that_holds_the_cookie_makes_a_page_of_its_owner() {
    let site = Cached { key: "$request_uri$cookie_PHPSESSID", ..Cached::default() };
    let (server, _origin) = site.start(greeting);
    for _ in 0..2 {
        for session in ["PHPSESSID=1", "PHPSESSID=2"] {
            assert!(server.fetch(&with_cookie(session)).text().contains(session));
        }
        assert!(server.get("/").text().starts_with("hello []"));
    }
}

/// Returns the cookies that the responses set.
fn cookies(answers: &[Answer]) -> Vec<String> {
    answers
        .iter()
        .flat_map(|answer| answer.all("Set-Cookie").map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

fn sets_a_cookie(call: &mut Call) {
    let number = call.number;
    call.answer(
        &format!("Content-Type: text/plain\nSet-Cookie: visit={number}\nCache-Control: public, max-age=60"),
        format!("page {number}"),
    );
}

#[test]
fn a_page_that_sets_a_cookie_is_not_shared() {
    let (server, origin) = Cached::default().start(sets_a_cookie);
    let answers: Vec<_> = (0..4).map(|_| server.get("/")).collect();
    assert_eq!(cookies(&answers), ["visit=1", "visit=2", "visit=3", "visit=4"]);
    assert_eq!(origin.count(), 4);
}

#[test]
fn cookie_of_ignored_set_cookie_field_reaches_only_client_that_triggered_fetch() {
    let (server, origin) =
        with("fastcgi_cache_valid 1h; fastcgi_ignore_headers Set-Cookie;").start(sets_a_cookie);
    let first = server.get("/");
    assert_eq!(
        (first.text().as_str(), first.field("Set-Cookie")),
        ("page 1", Some("visit=1")),
        "the client that caused the fetch gets its own"
    );
    for _ in 0..3 {
        let hit = server.get("/");
        assert_eq!((hit.cache(), hit.text().as_str(), hit.field("Set-Cookie")), ("HIT", "page 1", None));
    }
    assert_eq!(origin.count(), 1);
}

#[test]
fn only_one_of_many_waiting_clients_gets_cookie() {
    for ignore in ["", "fastcgi_ignore_headers Set-Cookie;"] {
        let rules = format!("fastcgi_cache_valid 1h; {ignore}");
        let (server, origin) = with(&rules).start(|call| {
            thread::sleep(Duration::from_millis(200));
            sets_a_cookie(call);
        });
        let given = cookies(&all_at_once(server.port, 40, &Request::get("/")));
        let different: BTreeSet<_> = given.iter().collect();
        assert_eq!(different.len(), given.len(), "{ignore} a cookie was given twice: {given:?}");
        assert_eq!(
            given.len(),
            origin.count(),
            "{ignore} each cookie reaches the client that it was made for"
        );
        assert_eq!(origin.count(), if ignore.is_empty() { 40 } else { 1 });
    }
}

#[test]
fn background_refresh_gives_its_cookie_to_no_client() {
    let rules = "fastcgi_cache_valid 1s; fastcgi_ignore_headers Set-Cookie Cache-Control; fastcgi_cache_use_stale updating; \
                 fastcgi_cache_background_update on;";
    let (server, origin) = with(rules).start(sets_a_cookie);
    server.get("/");
    thread::sleep(Duration::from_millis(2100));
    let stale = server.get("/");
    assert_eq!((stale.cache(), stale.field("Set-Cookie")), ("STALE", None));
    origin.wait_for(2);
    for _ in 0..5 {
        assert_eq!(server.get("/").field("Set-Cookie"), None);
    }
}

#[test]
fn nothing_overrides_private_nor_a_personal_cookie_that_is_set() {
    let rules = "fastcgi_cache_valid any 1h; fastcgi_ignore_headers Cache-Control Expires Set-Cookie Vary X-Accel-Expires;";
    for head in [
        "Cache-Control: private",
        "Cache-Control: max-age=60, private",
        "Cache-Control: no-cache=\"x\", Private",
        "Set-Cookie: PHPSESSID=abc; path=/",
        "Set-Cookie: wordpress_logged_in_abc=x; HttpOnly",
        "Set-Cookie: theme=dark\nSet-Cookie: woocommerce_cart_hash=x",
        "X-Accel-Expires: 100\nCache-Control: private",
        "X-Accel-Expires: 100\nSet-Cookie: PHPSESSID=abc",
    ] {
        for rules in [rules, "fastcgi_cache_valid any 1h;"] {
            let fields = head.to_owned();
            let (server, origin) = with(rules).start(move |call| {
                let text = format!("secret {}", call.number);
                call.answer(&format!("Content-Type: text/plain\n{fields}"), text);
            });
            for number in 1..=3 {
                assert_eq!(server.get("/").text(), format!("secret {number}"), "{head:?} under {rules:?}");
            }
            assert_eq!(origin.count(), 3);
        }
    }
}

#[test]
fn a_page_for_somebody_with_a_password_is_not_shared() {
    let (server, _origin) = Cached::default().start(|call| {
        let who = call.param("HTTP_AUTHORIZATION").to_owned();
        call.answer("Content-Type: text/plain", format!("for [{who}]"));
    });
    let own = server.fetch(&Request::get("/").field("Authorization", "Basic YTpi"));
    assert_eq!(own.text(), "for [Basic YTpi]");
    assert_eq!(server.get("/").text(), "for []", "RFC 9111, 3.5");
}

#[test]
fn a_session_does_not_wait_for_a_shared_fetch_nor_start_one() {
    let (server, origin) = Cached::default().start(|call| {
        thread::sleep(Duration::from_millis(200));
        greeting(call);
    });
    let port = server.port;
    let clients = (0..20).map(|number| {
        thread::spawn(move || {
            let cookie = format!("PHPSESSID={number}");
            let request = if number % 2 == 0 { Request::get("/") } else { with_cookie(&cookie) };
            (number, cookie, Client::connect(port).fetch(&request))
        })
    });
    for client in clients.collect::<Vec<_>>() {
        let (number, cookie, answer) = client.join().expect("an answer");
        let expected = if number % 2 == 0 { "hello []".to_owned() } else { format!("hello [{cookie}]") };
        assert!(answer.text().starts_with(&expected), "{number}: {}", answer.text());
    }
    assert_eq!(origin.count(), 11, "one request for all anonymous visitors, one for each session");
}

#[test]
fn shared_page_from_php_contains_nothing_of_individual_requests() {
    fn page(server: &Server, target: &str, field: (&str, &str)) -> String {
        server.fetch(&Request::get(target).field(field.0, field.1)).text()
    }
    let (server, _origin) = Cached { key: "$request_uri", ..Cached::default() }.start(|call| {
        let (range, condition) =
            (call.param("HTTP_RANGE").to_owned(), call.param("HTTP_IF_NONE_MATCH").to_owned());
        let since = call.param("HTTP_IF_MODIFIED_SINCE").to_owned();
        call.answer("Content-Type: text/plain", format!("[{range}{condition}{since}] whole"));
    });
    for (number, field) in [
        ("Range", "bytes=0-1"),
        ("If-None-Match", "\"x\""),
        ("If-Modified-Since", "Sat, 21 Nov 2026 00:00:00 GMT"),
    ]
    .into_iter()
    .enumerate()
    {
        page(&server, &format!("/{number}"), field);
        assert_eq!(
            page(&server, &format!("/{number}"), ("X-None", "")),
            "[] whole",
            "{field:?} reached the origin of a shared page"
        );
    }
}

/// Application with a firewall that rejects certain requests.
fn refusing(call: &mut Call) {
    if call.param("HTTP_X_BAD") == "yes" {
        return call.answer(
            "Status: 400 Bad Request\r\nCache-Control: max-age=600\r\nContent-Type: text/plain",
            "bad",
        );
    }
    if call.param("HTTP_X_LARGE").len() > 4000 || !call.param("HTTP_X_60").is_empty() {
        return call.answer("Status: 403 Forbidden\r\nContent-Type: text/plain", "too large");
    }
    call.answer("Content-Type: text/plain", "fine");
}

#[test]
fn error_caused_by_one_request_is_not_shared() {
    let (server, _origin) = with("fastcgi_cache_valid any 1h;").start(refusing);
    let large = Request::get("/large").field("X-Large", &"x".repeat(4500));
    let many =
        (1..=60).fold(Request::get("/many"), |request, number| request.field(&format!("X-{number}"), "x"));
    let bad = Request::get("/bad").field("X-Bad", "yes");
    for (request, status, page) in [(bad, 400, "/bad"), (large, 403, "/large"), (many, 403, "/many")] {
        for _ in 0..2 {
            assert_eq!(server.fetch(&request).status, status, "{page}");
        }
        for cache in ["MISS", "HIT"] {
            let answer = server.get(page);
            assert_eq!((answer.status, answer.cache()), (200, cache), "{page}: {}", answer.text());
        }
    }
}
