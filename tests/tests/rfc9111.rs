//! `cache_rfc9111 on`: a shared cache according to RFC 9111, in front of an HTTP origin.

use myriad_tests::{Answer, HttpCall, HttpOrigin, Place, Request, Server, wait_for};

/// Starts a site with RFC 9111 semantics in front of a script; `more` is placed in its location.
fn site(more: &str, script: impl Fn(&mut HttpCall) + Send + Sync + 'static) -> (Server, HttpOrigin) {
    let origin = HttpOrigin::start(script);
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let http = format!(
        "proxy_cache_path @DIR@/cache keys_zone=pages:1m;
         server {{ listen 127.0.0.1:@PORT@;
         location / {{ proxy_pass http://@ORIGIN@; proxy_http_version 1.1; proxy_set_header Host $http_host;
         proxy_cache pages; proxy_cache_key $http_host$request_uri; cache_rfc9111 on;
         add_header X-Cache $upstream_cache_status always; {more} }} }}"
    );
    (Server::start(place, &http), origin)
}

fn age(answer: &Answer) -> Option<u64> {
    answer.field("Age").map(|age| age.parse().expect("a number"))
}

#[test]
fn age_continues_from_origin_value_and_fetched_page_has_none() {
    let (server, origin) = site("", |call| match call.field("X-Age") {
        Some(_) => call.answer("HTTP/1.1 200 OK\nCache-Control: max-age=100\nAge: 30", "page"),
        None => call.answer("HTTP/1.1 200 OK\nCache-Control: max-age=100", "page"),
    });
    let aged = Request::get("/aged").field("X-Age", "1");
    assert!(age(&server.fetch(&aged)).is_some_and(|age| age >= 30));
    assert!(age(&server.fetch(&aged)).is_some_and(|age| (30..100).contains(&age)));
    assert_eq!(age(&server.get("/new")), None);
    assert!(age(&server.get("/new")).is_some());
    assert_eq!(origin.count(), 2);
}

#[test]
fn what_is_too_old_on_arrival_is_fetched_again() {
    let (server, origin) = site("", |call| {
        call.answer("HTTP/1.1 200 OK\nCache-Control: max-age=100\nAge: 200", "page");
    });
    server.get("/");
    server.get("/");
    assert_eq!(origin.count(), 2);
}

#[test]
fn a_page_without_leave_to_be_reused_is_confirmed_each_time_and_takes_the_new_fields() {
    let (server, origin) = site("", |call| {
        match call.field("If-None-Match") {
        Some("\"a\"") => call.answer(
            "HTTP/1.1 304 Not Modified\nETag: \"a\"\nCache-Control: no-cache\nX-Seen: twice\nContent-Type: text/html\n\
             Content-Length: 99",
            "",
        ),
        _ => call.answer(
            "HTTP/1.1 200 OK\nETag: \"a\"\nCache-Control: no-cache\nX-Seen: once\nX-Kept: yes\nContent-Type: text/plain",
            "page",
        ),
    }
    });
    assert_eq!(server.get("/").field("X-Seen"), Some("once"));
    for _ in 0..2 {
        let again = server.get("/");
        assert_eq!((again.status, again.text().as_str(), again.cache()), (200, "page", "REVALIDATED"));
        assert_eq!((again.field("X-Seen"), again.field("X-Kept")), (Some("twice"), Some("yes")));
        assert_eq!(
            again.field("Content-Type"),
            Some("text/plain"),
            "the body is the stored one, so its type stays"
        );
        assert_eq!(again.field("Content-Length"), Some("4"));
    }
    assert_eq!(origin.count(), 3);
    assert!(origin.heads()[1].to_ascii_lowercase().contains("if-none-match: \"a\""));
}

#[test]
fn a_confirmation_that_brings_what_is_personal_makes_the_visitor_ask_alone() {
    let (server, origin) = site("proxy_ignore_headers Set-Cookie;", |call| {
        let confirmed = call.field("If-None-Match").is_some();
        match (confirmed, call.field("X-Who")) {
            (true, _) => call.answer("HTTP/1.1 304 Not Modified\nETag: \"a\"\nSet-Cookie: PHPSESSID=1", ""),
            (false, Some(_)) => call.answer("HTTP/1.1 200 OK\nSet-Cookie: PHPSESSID=1", "own"),
            (false, None) => call.answer("HTTP/1.1 200 OK\nETag: \"a\"\nCache-Control: no-cache", "page"),
        }
    });
    server.get("/");
    let own = server.fetch(&Request::get("/").field("X-Who", "me"));
    assert_eq!((own.text().as_str(), own.field("Set-Cookie")), ("own", Some("PHPSESSID=1")));
    assert_eq!(origin.count(), 3);
}

#[test]
fn a_change_removes_the_page_and_those_that_its_answer_names_on_this_host() {
    for method in ["POST", "PUT", "DELETE", "M-SEARCH"] {
        let (server, origin) = site("", |call| match call.field("X-Say") {
            Some(say) => {
                let head = format!("HTTP/1.1 {say}\nLocation: /named\nContent-Location: //other.example/far");
                call.answer(&head, "");
            }
            None => call.answer("HTTP/1.1 200 OK\nCache-Control: max-age=100", "page"),
        });
        let change = |say: &str| server.fetch(&Request::new(method, "/").field("X-Say", say));
        let hits = || ["/", "/named", "/far"].map(|target| server.get(target).cache() == "HIT");
        hits();
        assert_eq!(hits(), [true, true, true]);
        assert_eq!(change("500 Broken").status, 500);
        assert_eq!(hits(), [true, true, true], "{method} failed");
        let before = origin.count();
        assert_eq!(change("201 Created").status, 201);
        assert_eq!(hits(), [false, false, true], "{method}");
        assert_eq!(origin.count(), before + 3);
    }
}

#[test]
fn response_to_authorized_request_is_shared_only_if_explicitly_allowed() {
    let (server, _origin) = site("", |call| {
        let control = call.field("X-Control").unwrap_or("max-age=100").to_owned();
        call.answer(&format!("HTTP/1.1 200 OK\nCache-Control: {control}"), "page");
    });
    let known = |target: &str, control: &str| {
        let request = Request::get(target).field("X-Control", control).field("Authorization", "Basic eDp5");
        server.fetch(&request);
        server.get(target).cache() == "HIT"
    };
    assert!(!known("/plain", "max-age=100"));
    assert!(!known("/private", "public, private, max-age=100"));
    assert!(known("/public", "public, max-age=100"));
    assert!(known("/shared", "s-maxage=100"));
}

#[test]
fn nothing_stale_is_sent_where_the_origin_forbids_it() {
    let (server, _origin) =
        site("proxy_cache_use_stale error http_500;", |call| match (call.number, call.target.as_str()) {
            (number, _) if number > 2 => call.answer("HTTP/1.1 500 Broken", "broken"),
            (_, "/strict") => call.answer("HTTP/1.1 200 OK\nETag: \"a\"\nCache-Control: no-cache", "page"),
            _ => call.answer("HTTP/1.1 200 OK\nETag: \"a\"\nCache-Control: max-age=0", "page"),
        });
    server.get("/strict");
    server.get("/lenient");
    let strict = server.get("/strict");
    assert_eq!((strict.status, strict.text().as_str()), (500, "broken"));
    let lenient = server.get("/lenient");
    assert_eq!((lenient.status, lenient.cache(), lenient.text().as_str()), (200, "STALE", "page"));
}

#[test]
fn the_targeted_field_decides_and_never_lifts_private() {
    let (server, _origin) = site("", |call| {
        let (targeted, control) = match call.target.as_str() {
            "/longer" => ("max-age=100", "no-store"),
            "/never" => ("no-store", "max-age=100"),
            "/unsound" => ("max-age=\"100\"", "no-store"),
            _ => ("max-age=100", "private"),
        };
        let head = format!("HTTP/1.1 200 OK\nCDN-Cache-Control: {targeted}\nCache-Control: {control}");
        call.answer(&head, "page");
    });
    let hit = |target: &str| {
        server.get(target);
        server.get(target).cache() == "HIT"
    };
    assert_eq!(["/longer", "/never", "/unsound", "/private"].map(hit), [true, false, false, false]);
}

#[test]
fn only_if_cached_never_reaches_the_origin_and_no_other_wish_bypasses() {
    let (server, origin) = site("", |call| {
        call.answer("HTTP/1.1 200 OK\nCache-Control: max-age=100", "page");
    });
    let wish = |value: &str| server.fetch(&Request::get("/").field("Cache-Control", value));
    assert_eq!((wish("only-if-cached").status, origin.count()), (504, 0));
    server.get("/");
    for value in ["only-if-cached", "no-cache", "no-store", "max-age=0", "min-fresh=1000"] {
        assert_eq!(wish(value).cache(), "HIT", "{value}");
    }
    assert_eq!(origin.count(), 1);
}

#[test]
fn interim_responses_reach_client_that_triggered_fetch_and_are_not_stored() {
    let (server, _origin) = site("", |call| {
        call.send(
            "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n",
        );
        call.answer("HTTP/1.1 200 OK\nCache-Control: max-age=100", "page");
    });
    let seen = |version: &str| {
        let mut client = server.connect();
        client.send(format!("GET / HTTP/{version}\r\nHost: a\r\nConnection: close\r\n\r\n"));
        String::from_utf8(client.rest()).expect("text")
    };
    let first = seen("1.1");
    assert!(first.starts_with("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n"), "{first}");
    assert!(
        first.contains("Link: </a.css>; rel=preload\r\n") && first.contains("HTTP/1.1 200 OK"),
        "{first}"
    );
    let stored = seen("1.1");
    assert!(stored.starts_with("HTTP/1.1 200 OK") && !stored.contains("Link:"), "{stored}");
}

#[test]
fn an_old_client_gets_no_interim_response() {
    let (server, _origin) = site("", |call| {
        call.send("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n");
        call.answer("HTTP/1.1 200 OK\nCache-Control: max-age=100", "page");
    });
    let mut client = server.connect();
    client.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n");
    let seen = String::from_utf8(client.rest()).expect("text");
    assert!(!seen.contains("103") && seen.contains("200 OK"), "{seen}");
}

#[test]
fn a_page_gone_by_is_asked_for_while_the_visitor_gets_the_old_one() {
    let (server, origin) = site("proxy_cache_background_update on;", |call| {
        let head = format!(
            "HTTP/1.1 200 OK\nETag: \"{}\"\nCache-Control: max-age=0, stale-while-revalidate=100",
            call.number
        );
        call.answer(&head, format!("page {}", call.number));
    });
    assert_eq!(server.get("/").text(), "page 1");
    let stale = server.get("/");
    assert_eq!((stale.text().as_str(), stale.cache()), ("page 1", "STALE"));
    wait_for("the refresh", || origin.count() >= 2);
}
