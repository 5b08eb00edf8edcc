//! covers: leak_guard
//! Sampled verifications of the leak guard: pages that depend on inputs of visitors, without containing their values.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use myriad_tests::{Answer, Cached, Call, Request, Server, wait_for};

use super::with;

/// Text around the content that differs. Comparisons need it to find where the pages are equal again.
const TEXT: &str = "This shop sells tea and coffee from all over the world.";

/// Returns directives of a cache that verifies pages at once.
fn rules(more: &str) -> String {
    format!(
        "fastcgi_cache_valid 1h; add_header Why $upstream_cache_reason always; set_real_ip_from 127.0.0.1; \
         real_ip_header X-Real-IP; leak_guard sample=100% delay=1ms budget=100%; {more}"
    )
}

/// Sends a page that greets the visitor by a name that depends on the cookie `who`.
fn greet(call: &mut Call) {
    greet_with("Content-Type: text/html", call);
}

/// Sends the page of [`greet`] with other header fields.
fn greet_with(head: &str, call: &mut Call) {
    let name = match call.param("HTTP_COOKIE") {
        cookies if cookies.contains("who=1") => "Margarete",
        cookies if cookies.contains("who=2") => "Wilhelmine",
        _ => "guest",
    };
    call.answer(head, format!("<body>{TEXT} Hello, {name}! {TEXT}"));
}

/// Returns the request of a client with an address and one more field.
fn from(address: &str, field: (&str, &str)) -> Request {
    Request::get("/").field("X-Real-IP", address).field(field.0, field.1)
}

fn why(answer: &Answer) -> &str {
    answer.field("Why").unwrap_or_default()
}

fn log(server: &Server) -> String {
    std::fs::read_to_string(server.path("error.log")).expect("a log")
}

/// Requests the page until its second hit was counted.
fn hit_twice(server: &Server) {
    for _ in 0..2 {
        assert_eq!(server.get("/").cache(), "HIT");
    }
}

/// Sends a visitor's request, whose response has this text, then two without the visitor's inputs. Waits until the
/// verification has removed the stored page.
fn remove_page_of(server: &Server, visitor: &Request, text: &str) {
    assert!(server.fetch(visitor).text().contains(text));
    hit_twice(server);
    server.log_has("it was removed");
}

/// Sends a request without inputs of a visitor. Returns true if the response was a hit.
fn is_hit(server: &Server) -> bool {
    server.get("/").cache() == "HIT"
}

/// Polls the error log for at most a second. Returns true if it contains the text.
fn log_has_within_a_second(server: &Server, text: &str) -> bool {
    let deadline = Instant::now() + Duration::from_secs(1);
    while !log(server).contains(text) {
        if Instant::now() >= deadline {
            return false;
        }
        sleep(Duration::from_millis(5));
    }
    true
}

/// Sends a request until its response is compared and reported with this text.
fn fetch_until(server: &Server, request: &Request, reported: &str) {
    wait_for(reported, || {
        let answer = server.fetch(request);
        assert_ne!(answer.cache(), "HIT", "{}", answer.text());
        log(server).contains(reported)
    });
}

#[test]
fn page_that_greets_by_a_session_is_removed_and_quarantined_after_two_visitors() {
    let (server, _origin) = with(&rules("")).start(greet);
    let margarete = from("203.0.113.1", ("Cookie", "who=1; theme=dark"));
    assert!(server.fetch(&margarete).text().contains("Margarete"));
    hit_twice(&server);
    server.log_has("page \"localhost/\" has \"");
    assert!(log(&server).contains("H…, M…!") && !log(&server).contains("Margarete"), "{}", log(&server));
    let wilhelmine = from("203.0.113.2", ("Cookie", "who=2; theme=dark"));
    let own = server.fetch(&wilhelmine);
    assert_eq!((why(&own), own.text().contains("Wilhelmine")), ("leak", true));
    fetch_until(&server, &wilhelmine, "depends on the cookie \"who\"");
    assert!(log(&server).contains("\"personal_cookies\""), "{}", log(&server));
    fetch_until(&server, &margarete, "the page is not shared");
    let guest = server.get("/");
    assert_eq!((guest.cache(), why(&guest)), ("MISS", "leak"));
}

#[test]
fn cookie_that_changes_the_page_is_found_although_an_ignored_vary_names_it() {
    let rules = rules("fastcgi_ignore_headers Vary;");
    let (server, _origin) =
        with(&rules).start(|call| greet_with("Content-Type: text/html\nVary: Cookie", call));
    let margarete = from("203.0.113.1", ("Cookie", "who=1; theme=dark"));
    remove_page_of(&server, &margarete, "Margarete");
    fetch_until(&server, &margarete, "depends on the cookie \"who\"");
}

#[test]
fn field_that_changes_the_page_is_found_among_those_that_visitors_share() {
    let (server, _origin) = with(&rules("")).start(|call| {
        let greeting = if call.param("HTTP_X_COUNTRY") == "CH" { "Salut" } else { "Hello" };
        let base = call.param("HTTP_X_FORWARDED_PROTO").to_owned();
        call.answer("Content-Type: text/html", format!("<body>{TEXT} {greeting} {base} {TEXT}"));
    });
    let plain = || Request::get("/").field("X-Forwarded-Proto", "https").field("X-Request-Id", "1");
    let swiss = plain().field("X-Country", "CH");
    assert!(server.fetch(&swiss).text().contains("Salut https"));
    for _ in 0..2 {
        assert_eq!(server.fetch(&plain()).cache(), "HIT");
    }
    server.log_has("it was removed");
    fetch_until(&server, &swiss, "depends on the field \"X-Country\"");
    assert!(log(&server).contains("cache_key_field X-Country;"), "{}", log(&server));
    assert_eq!(server.fetch(&plain()).cache(), "MISS");
    assert_eq!(server.fetch(&plain()).cache(), "HIT", "a page without the field is shared");
}

#[test]
fn page_that_changed_without_a_purge_is_shared_again() {
    let is_new = Arc::new(AtomicBool::new(false));
    let changes = Arc::clone(&is_new);
    let (server, _origin) = with(&rules("")).start(move |call| {
        let news = if changes.load(Ordering::Relaxed) { "Tea is sold out." } else { "Coffee is sold out." };
        call.answer("Content-Type: text/html", format!("<body>{TEXT} {news} {TEXT}"));
    });
    let visitor = |number: usize| from(&format!("203.0.113.{number}"), ("Cookie", "theme=dark"));
    assert_eq!(server.fetch(&visitor(1)).cache(), "MISS");
    is_new.store(true, Ordering::Relaxed);
    hit_twice(&server);
    server.log_has("it was removed");
    // After three responses that do not depend on the cookie, the page is no longer suspected.
    wait_for("the page", || server.fetch(&visitor(2)).cache() == "HIT");
    assert!(!log(&server).contains("depends"), "{}", log(&server));
}

#[test]
fn field_that_a_page_repeats_is_found_by_its_canary() {
    let page = |call: &mut Call| {
        let host = if call.has("HTTP_X_FORWARDED_HOST") {
            call.param("HTTP_X_FORWARDED_HOST")
        } else {
            call.param("HTTP_HOST")
        };
        let text = format!("<body><a href=\"http://{host}/next\">{TEXT}</a>");
        call.answer("Content-Type: text/html", text);
    };
    let (server, _origin) = with(&rules("")).start(page);
    assert_eq!(server.get("/").cache(), "MISS");
    hit_twice(&server);
    server.log_has("value of the request's field \"x-forwarded-host\" in the body");
    assert!(log(&server).contains("the page is not shared"), "{}", log(&server));
    wait_for("the quarantine", || server.get("/").cache() != "HIT");
    assert_eq!(why(&server.get("/")), "leak");
    // The page under a key with the field is no finding.
    let (keyed, origin) = with(&rules("cache_key_field X-Forwarded-Host;")).start(page);
    assert_eq!(keyed.get("/").cache(), "MISS");
    hit_twice(&keyed);
    origin.wait_for(4);
    assert_eq!(keyed.get("/").cache(), "HIT");
    assert!(!log(&keyed).contains("x-forwarded-host"), "{}", log(&keyed));
}

#[test]
fn page_by_language_is_reported_and_remains_shared() {
    let page = |call: &mut Call| {
        let greeting =
            if call.param("HTTP_ACCEPT_LANGUAGE").starts_with("de") { "Guten Tag" } else { "Hello" };
        let vary = if call.uri() == "/vary" { "\nVary: Accept-Language" } else { "" };
        call.answer(&format!("Content-Type: text/html{vary}"), format!("<body>{TEXT} {greeting} {TEXT}"));
    };
    let (server, origin) = with(&rules("")).start(page);
    assert_eq!(server.get("/").cache(), "MISS");
    hit_twice(&server);
    server.log_has("depends on the field \"accept-language\"");
    assert!(log(&server).contains("the page remains shared"), "{}", log(&server));
    assert_eq!(server.get("/").cache(), "HIT");
    let before = origin.count();
    for cache in ["MISS", "HIT", "HIT"] {
        assert_eq!(server.get("/vary").cache(), cache);
    }
    origin.wait_for(before + 4);
    assert!(!log(&server).contains("/vary\""), "{}", log(&server));
}

#[test]
fn page_that_differs_at_each_request_is_reported_once_and_remains_shared() {
    let (server, origin) = with(&rules("")).start(|call| {
        let words: Vec<_> = (0..200).map(|word| format!("w{}", word * (call.number + 2) % 211)).collect();
        let words = words.join(" ");
        call.answer("Content-Type: text/html", format!("<body>{words}"));
    });
    assert_eq!(server.get("/").cache(), "MISS");
    hit_twice(&server);
    server.log_has("page \"localhost/\" cannot be verified");
    assert_eq!((server.get("/").cache(), origin.count()), ("HIT", 3));
}

#[test]
fn page_with_the_time_in_seconds_is_not_suspected() {
    let (server, origin) = with(&rules("")).start(|call| {
        // The second and the third request are in the same second.
        let time = 1_788_000_000 + call.number / 2;
        let text = format!("<body>{TEXT} <img src=\"/tasks.php?{time}\"> {TEXT}");
        call.answer("Content-Type: text/html", text);
    });
    let visitor = from("203.0.113.1", ("Cookie", "theme=dark"));
    assert_eq!(server.fetch(&visitor).cache(), "MISS");
    hit_twice(&server);
    // Two requests, one more in another second, and one with other inputs and its repetition.
    origin.wait_for(5);
    assert_eq!(server.fetch(&visitor).cache(), "HIT");
    assert!(!log(&server).contains("leak guard"), "{}", log(&server));
}

#[test]
fn requests_of_the_server_are_marked_and_clients_cannot_mark_theirs() {
    let marked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&marked);
    let line = "fastcgi_param LINE \"$request_method $request_uri $server_protocol\";";
    let (server, origin) = with(&rules(line)).start(move |call| {
        let mark = call.param("HTTP_X_MYRIAD_PROBE").to_owned();
        let is_complete =
            call.param("LINE") == "GET /?a=1 HTTP/1.1" && call.param("HTTP_HOST") == "localhost";
        counted.fetch_add(usize::from(mark == "leak-guard" && is_complete), Ordering::Relaxed);
        let repeated = if mark == "forged" { "\nX-Mark: forged" } else { "" };
        call.answer(&format!("Content-Type: text/html{repeated}"), format!("<body>{TEXT}"));
    });
    let forged = |request: Request| request.field("X-Myriad-Probe", "forged");
    assert_eq!(server.fetch(&forged(Request::get("/?a=1"))).field("X-Mark"), None);
    for _ in 0..2 {
        assert_eq!(server.get("/?a=1").cache(), "HIT");
    }
    origin.wait_for(4);
    assert_eq!(server.fetch(&forged(Request::new("POST", "/"))).field("X-Mark"), None);
    assert_eq!(marked.load(Ordering::Relaxed), 3);
}

#[test]
fn fields_of_responses_are_compared() {
    let (server, _origin) = with(&rules("")).start(|call| {
        let name = if call.param("HTTP_COOKIE").contains("who=1") { "\nX-Name: Margarete" } else { "" };
        let head = format!("Content-Type: text/html\nX-Request: {}{name}", call.number);
        call.answer(&head, format!("<body>{TEXT}"));
    });
    let margarete = from("203.0.113.1", ("Cookie", "who=1"));
    assert_eq!(server.fetch(&margarete).field("X-Name"), Some("Margarete"));
    hit_twice(&server);
    server.log_has("page \"localhost/\" has field x-name \"M…\"");
    fetch_until(&server, &margarete, "depends on the cookie \"who\"");
}

#[test]
fn field_of_a_poisoned_page_is_found_although_later_requests_lack_it() {
    let (server, _origin) = with(&rules("")).start(|call| {
        let host = if call.has("HTTP_X_HOST") { call.param("HTTP_X_HOST") } else { "localhost" };
        call.answer("Content-Type: text/html", format!("<body><a href=\"http://{host}/\">{TEXT}</a>"));
    });
    assert!(server.fetch(&Request::get("/").field("X-Host", "evil.test")).text().contains("evil.test"));
    hit_twice(&server);
    server.log_has("value of the request's field \"x-host\" in the body");
    assert!(!server.get("/").text().contains("evil.test"));
}

#[test]
fn cause_of_a_suspicion_is_found_at_hits_of_the_page_that_replaced_the_suspected_one() {
    let (server, _origin) = with(&rules("")).start(greet);
    let margarete = from("203.0.113.1", ("Cookie", "who=1"));
    remove_page_of(&server, &margarete, "Margarete");
    wait_for("a page without data", || is_hit(&server));
    wait_for("the cause", || {
        let answer = server.fetch(&margarete);
        assert_eq!((answer.cache(), answer.text().contains("guest")), ("HIT", true));
        log(&server).contains("depends on the cookie \"who\"")
    });
}

#[test]
fn cause_of_a_suspicion_is_found_at_a_later_hit_with_new_inputs() {
    const CAUSE: &str = "depends on the cookie \"who\"";
    let (server, _origin) = with(&rules("")).start(greet);
    let margarete = from("203.0.113.1", ("Cookie", "who=1"));
    remove_page_of(&server, &margarete, "Margarete");
    wait_for("a page without data", || is_hit(&server));
    // If the page were not suspected, none of the hits after these would be due for a verification before the 32nd.
    assert!((0..16).all(|_| is_hit(&server)));
    for _ in 0..6 {
        let answer = server.fetch(&margarete);
        assert_eq!((answer.cache(), answer.text().contains("guest")), ("HIT", true));
        // Another comparison may have been in progress at this hit, so it is repeated.
        if log_has_within_a_second(&server, CAUSE) {
            break;
        }
    }
    assert!(log(&server).contains(CAUSE), "{}", log(&server));
}

#[test]
fn visitor_with_another_cookie_is_compared_although_the_page_is_shared_again() {
    let (server, _origin) = with(&rules("fastcgi_cache_purge on;")).start(greet);
    let margarete = from("203.0.113.1", ("Cookie", "who=1"));
    remove_page_of(&server, &margarete, "Margarete");
    let other = from("203.0.113.2", ("Cookie", "theme=dark"));
    let is_shared_again = || wait_for("a shared page", || server.fetch(&other).cache() == "HIT");
    is_shared_again();
    let purge = || assert_eq!(server.fetch(&Request::new("PURGE", "/")).status, 200);
    purge();
    let own = server.fetch(&margarete);
    assert_eq!((why(&own), own.text().contains("Margarete")), ("leak", true));
    server.log_has("depends on the cookie \"who\"");
    // One visitor does not cause a quarantine, but the response is never shared.
    for _ in 0..2 {
        is_shared_again();
        purge();
        assert_eq!(why(&server.fetch(&margarete)), "leak");
    }
}

#[test]
fn page_of_a_visitor_whose_cookie_others_have_too_is_removed_again() {
    let (server, _origin) = with(&rules("fastcgi_cache_purge on;")).start(|call| {
        let is_member = call.param("HTTP_COOKIE").contains("visit=margarete-1");
        let name = if is_member { "Margarete" } else { "guest" };
        call.answer("Content-Type: text/html", format!("<body>{TEXT} Hello, {name}! {TEXT}"));
    });
    let margarete = from("203.0.113.1", ("Cookie", "visit=margarete-1"));
    let other = from("203.0.113.2", ("Cookie", "visit=anonymous-2"));
    remove_page_of(&server, &margarete, "Margarete");
    wait_for("a shared page", || server.fetch(&other).cache() == "HIT");
    assert_eq!(server.fetch(&Request::new("PURGE", "/")).status, 200);
    assert!(server.fetch(&margarete).text().contains("Margarete"));
    wait_for("the removal", || {
        server.fetch(&other);
        log(&server).matches("it was removed").count() == 2
    });
    assert_eq!(why(&server.fetch(&margarete)), "leak");
}

#[test]
fn browser_that_changes_the_page_is_found() {
    let (server, _origin) = with(&rules("")).start(|call| {
        let menu = if call.param("HTTP_USER_AGENT").contains("iPhone") { "small" } else { "wide" };
        call.answer("Content-Type: text/html", format!("<body>{TEXT} A {menu} menu. {TEXT}"));
    });
    let phone = from("203.0.113.1", ("User-Agent", "Mozilla/5.0 (iPhone) Mobile"));
    remove_page_of(&server, &phone, "small");
    wait_for("the cause", || {
        server.fetch(&phone);
        log(&server).contains("depends on the field \"user-agent\"")
    });
}

#[test]
fn results_of_maps_are_those_of_the_requests_of_the_server() {
    let rules = rules("fastcgi_param MEMBER $member;");
    let site =
        Cached { http: "map $http_cookie $member { default guest; ~who=1 Margarete; }", ..with(&rules) };
    let (server, _origin) = site.start(|call| {
        let name = call.param("MEMBER").to_owned();
        call.answer("Content-Type: text/html", format!("<body>{TEXT} Hello, {name}! {TEXT}"));
    });
    let margarete = from("203.0.113.1", ("Cookie", "who=1"));
    assert!(server.fetch(&margarete).text().contains("Margarete"));
    // The cookie of these hits must not be in the requests of the server either.
    for _ in 0..2 {
        assert_eq!(server.fetch(&margarete).cache(), "HIT");
    }
    server.log_has("it was removed");
    fetch_until(&server, &margarete, "depends on the cookie \"who\"");
}
