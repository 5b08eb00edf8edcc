//! Availability without PHP: stale pages, and their refresh.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use myriad_tests::{
    Cached, Call, Client, Gate, Load, Origin, PATIENCE, Php, Place, Request, Server, all_at_once, wait_for,
};

/// Response of the origin to the next request.
const PAGE: u8 = 0;
const HANG_UP: u8 = 1;
const STATUS_500: u8 = 2;
const STATUS_503: u8 = 3;
const STATUS_404: u8 = 4;
const SILENT: u8 = 5;
const NO_HEAD: u8 = 6;

fn moody(mood: &Arc<AtomicU8>) -> impl Fn(&mut Call) + Send + Sync + 'static {
    let mood = Arc::clone(mood);
    move |call| {
        let text = format!("page {}", call.number);
        match mood.load(Ordering::SeqCst) {
            HANG_UP => call.hang_up(),
            STATUS_500 => call.answer("Status: 500 Broken\nContent-Type: text/plain", "broken"),
            STATUS_503 => call.answer("Status: 503 Busy\nContent-Type: text/plain", "busy"),
            STATUS_404 => call.answer("Status: 404 Lost\nContent-Type: text/plain", "lost"),
            SILENT => drop(call.wait_for_hang_up()),
            NO_HEAD => drop(call.send("nothing of a head\r\n\r\n")),
            _ => call.answer(&first_expires(call.number), text),
        }
    }
}

/// Starts a site whose page `/` is stored and stale; the state selects the response of the origin. `/impatient` is the
/// same page with a short origin timeout.
fn expired(rules: &str) -> (Server, Origin, Arc<AtomicU8>) {
    let mood = Arc::new(AtomicU8::new(PAGE));
    let rules = format!(
        "fastcgi_cache_valid 1s; {rules} location /impatient {{ fastcgi_read_timeout 500ms; fastcgi_pass @ORIGIN@; }}"
    );
    let site = Cached { server: &rules, key: "page$args", ..Cached::default() };
    let (server, origin) = site.start(moody(&mood));
    assert_eq!(server.get("/").text(), "page 1");
    expire(Instant::now());
    (server, origin, mood)
}

const UPDATING: &str = "fastcgi_cache_use_stale updating;";
const IN_THE_BACKGROUND: &str = "fastcgi_cache_use_stale updating; fastcgi_cache_background_update on;";

/// Returns the lifetime of the page of a call: the first page expires during the test, later pages do not.
fn first_expires(number: usize) -> String {
    format!("Content-Type: text/plain\nX-Accel-Expires: {}", if number == 1 { 1 } else { 600 })
}

/// Starts a site whose page `/` is stored and stale, and whose origin sends the next page after the gate has opened.
fn held(rules: &str) -> (Server, Origin, Arc<Gate>) {
    let gate = Arc::new(Gate::new());
    let passed = Arc::clone(&gate);
    let (server, origin) = Cached { server: rules, ..Cached::default() }.start(move |call| {
        if call.number == 2 {
            passed.pass();
        }
        let text = format!("page {}", call.number);
        call.answer(&first_expires(call.number), text);
    });
    assert_eq!(server.get("/").text(), "page 1");
    expire(Instant::now());
    (server, origin, gate)
}

/// Waits for the expiry: validity has a resolution of seconds.
fn expire(since: Instant) {
    thread::sleep(Duration::from_millis(2100).saturating_sub(since.elapsed()));
}

fn see(server: &Server) -> (u16, String, String) {
    see_at(server, "/")
}

fn see_at(server: &Server, uri: &str) -> (u16, String, String) {
    let answer = server.get(uri);
    (answer.status, answer.cache().to_owned(), answer.text())
}

fn stale() -> (u16, String, String) {
    (200, "STALE".into(), "page 1".into())
}

#[test]
fn a_stale_page_stands_in_for_every_failure_that_is_named() {
    let (server, origin, mood) =
        expired("fastcgi_cache_use_stale error timeout invalid_header http_500 http_503 http_404;");
    for (number, failure) in
        [HANG_UP, STATUS_500, STATUS_503, STATUS_404, SILENT, NO_HEAD].into_iter().enumerate()
    {
        mood.store(failure, Ordering::SeqCst);
        let uri = if failure == SILENT { "/impatient" } else { "/" };
        assert_eq!(see_at(&server, uri), stale(), "failure {failure}");
        assert!(origin.count() >= number + 2, "a request was sent to the origin each time");
    }
    mood.store(PAGE, Ordering::SeqCst);
    let (status, cache, text) = see(&server);
    assert_eq!((status, cache.as_str()), (200, "EXPIRED"), "the origin is back: {text}");
    assert_eq!(see(&server), (200, "HIT".into(), text));
}

#[test]
fn unlisted_failure_is_passed_on_and_page_is_retained() {
    let (server, _origin, mood) = expired("fastcgi_cache_use_stale error http_500;");
    mood.store(STATUS_503, Ordering::SeqCst);
    assert_eq!(see(&server), (503, "EXPIRED".into(), "busy".into()));
    mood.store(SILENT, Ordering::SeqCst);
    assert_eq!(see_at(&server, "/impatient").0, 504);
    mood.store(STATUS_500, Ordering::SeqCst);
    assert_eq!(see(&server), stale(), "a 503 did not replace the page");
    mood.store(HANG_UP, Ordering::SeqCst);
    assert_eq!(see(&server), stale());
}

#[test]
fn without_use_stale_nothing_stale_is_served() {
    let (server, mut origin, mood) = expired("");
    mood.store(STATUS_500, Ordering::SeqCst);
    assert_eq!(see(&server).0, 500);
    origin.stop();
    assert_eq!(see(&server).0, 502);
}

#[test]
fn a_server_error_never_replaces_a_usable_page() {
    let (server, _origin, mood) =
        expired("fastcgi_cache_valid any 1h; fastcgi_cache_valid 500 1h; fastcgi_cache_use_stale error;");
    mood.store(STATUS_500, Ordering::SeqCst);
    assert_eq!(see(&server).0, 500);
    mood.store(HANG_UP, Ordering::SeqCst);
    assert_eq!(see(&server), stale());
}

#[test]
fn an_origin_that_is_not_there_leaves_the_stale_page() {
    let (server, mut origin, _mood) = expired("fastcgi_cache_use_stale error timeout;");
    origin.stop();
    for _ in 0..5 {
        assert_eq!(see(&server), stale());
    }
    assert_eq!(server.get("/?never-seen").status, 502);
    let _back = Origin::start_at(&origin.address, |call| call.answer("Content-Type: text/plain", "back"));
    wait_for("the origin's return", || see(&server).2 == "back");
}

#[test]
fn updating_lets_one_fetch_while_the_others_get_the_stale_page() {
    let (server, origin, gate) = held(UPDATING);
    let mut refresher = server.connect();
    refresher.send(Request::get("/").bytes());
    origin.wait_for(2);
    for answer in all_at_once(server.port, 20, &Request::get("/")) {
        assert_eq!((answer.cache(), answer.text().as_str()), ("UPDATING", "page 1"));
    }
    gate.open();
    let refreshed = refresher.answer();
    assert_eq!((refreshed.cache(), refreshed.text().as_str()), ("EXPIRED", "page 2"));
    assert_eq!(origin.count(), 2);
}

#[test]
fn no_client_waits_for_background_refresh() {
    let (server, origin, gate) = held(IN_THE_BACKGROUND);
    let first = server.get("/");
    assert_eq!((first.cache(), first.text().as_str()), ("STALE", "page 1"));
    origin.wait_for(2);
    for answer in all_at_once(server.port, 20, &Request::get("/")) {
        assert_eq!((answer.cache(), answer.text().as_str()), ("UPDATING", "page 1"));
    }
    assert_eq!(origin.count(), 2);
    gate.open();
    wait_for("the refreshed page", || server.get("/").text() == "page 2");
    assert_eq!(server.get("/").cache(), "HIT");
}

/// Returns the cache status of a page on a connection that closes after the response, the cache status of an immediate
/// second request, and the time until the first connection closed.
fn seen_and_seen_again(server: &Server, uri: &str) -> (String, String, Duration) {
    let request = Request::get(uri).field("Connection", "close");
    let begun = Instant::now();
    let mut client = server.connect();
    client.send(request.bytes());
    let first = client.answer().cache().to_owned();
    assert!(client.is_closed());
    let took = begun.elapsed();
    let mut client = server.connect();
    (first, client.fetch(&request).cache().to_owned(), took)
}

#[test]
fn closing_connection_lingers_so_that_immediate_next_request_gets_new_page() {
    const PAGES: usize = 20;
    let (server, _origin) = Cached { server: IN_THE_BACKGROUND, ..Cached::default() }.start(|call| {
        // Longer than the interval between the two requests of a client.
        thread::sleep(Duration::from_millis(10));
        let expiry = if call.number <= PAGES { 1 } else { 600 };
        call.answer(&format!("Content-Type: text/plain\nX-Accel-Expires: {expiry}"), "page");
    });
    let uris: Vec<_> = (0..PAGES).map(|number| format!("/{number}")).collect();
    for uri in &uris {
        assert_eq!(server.get(uri).cache(), "MISS");
    }
    expire(Instant::now());
    let seen: Vec<_> = uris.iter().map(|uri| seen_and_seen_again(&server, uri)).collect();
    assert!(seen.iter().all(|(first, ..)| first == "STALE"), "{seen:?}");
    // A connection that closed within this time closed after the refresh. If it took longer because the machine was
    // busy, the test asserts nothing.
    let ended_in_time = |took: &Duration| *took < Duration::from_millis(40);
    assert!(seen.iter().all(|(_, again, took)| again == "HIT" || !ended_in_time(took)), "{seen:?}");
}

#[test]
fn a_connection_that_ends_anyway_does_not_stay_for_a_slow_refresh() {
    let (server, origin, gate) = held(IN_THE_BACKGROUND);
    // The connection closes while the origin is still blocked.
    let (first, again, _) = seen_and_seen_again(&server, "/");
    assert_eq!((first.as_str(), again.as_str()), ("STALE", "UPDATING"));
    assert_eq!(origin.count(), 2);
    gate.open();
    wait_for("the refreshed page", || server.get("/").text() == "page 2");
}

#[test]
fn background_refresh_completes_after_triggering_client_disconnects() {
    let (server, origin, gate) = held(IN_THE_BACKGROUND);
    let mut client = server.connect();
    assert_eq!(client.fetch(&Request::get("/")).text(), "page 1");
    origin.wait_for(2);
    drop(client);
    gate.open();
    wait_for("the refreshed page", || server.get("/").text() == "page 2");
    assert_eq!(origin.count(), 2);
}

#[test]
fn stale_while_revalidate_and_stale_if_error_come_from_the_origin_too() {
    let mood = Arc::new(AtomicU8::new(PAGE));
    let script = moody(&mood);
    let (server, _origin) = Cached { server: "", ..Cached::default() }.start(move |call| {
        if call.uri() == "/error" && call.number <= 1 {
            call.answer(
                "Content-Type: text/plain\nCache-Control: max-age=1, stale-if-error=60",
                "from before",
            );
        } else {
            script(call);
        }
    });
    assert_eq!(server.get("/error").text(), "from before");
    expire(Instant::now());
    mood.store(HANG_UP, Ordering::SeqCst);
    let answer = server.get("/error");
    assert_eq!((answer.status, answer.text().as_str()), (200, "from before"));
}

#[test]
fn a_rush_on_an_expired_page_costs_one_request() {
    let site = Cached { server: "fastcgi_cache_valid 1s; fastcgi_cache_lock on;", ..Cached::default() };
    let (server, origin) = site.start(|call| {
        thread::sleep(Duration::from_millis(200));
        let text = format!("page {}", call.number);
        call.answer(&first_expires(call.number), text);
    });
    assert_eq!(server.get("/").text(), "page 1");
    expire(Instant::now());
    for answer in all_at_once(server.port, 100, &Request::get("/")) {
        assert_eq!(answer.text(), "page 2");
    }
    assert_eq!(origin.count(), 2, "promise 3: one request per page and refresh");
}

#[test]
fn php_killed_under_load_costs_no_visitor_a_page() {
    let mut place = Place::new();
    for name in 0..5 {
        place.write(
            &format!("html/{name}.php"),
            format!("<?php header('Content-Type: text/plain'); echo 'page {name}';"),
        );
    }
    let mut php = Php::start(&mut place);
    let address = place.fill("@PHP@");
    let rules = "fastcgi_cache_valid 1s; fastcgi_cache_use_stale error timeout updating http_500 http_503; \
                 fastcgi_cache_background_update on; fastcgi_cache_lock on;";
    let site = Cached { server: rules, ..Cached::default() };
    let server = site.start_before(place, &address);
    let requests: Vec<_> = (0..5).map(|name| Request::get(&format!("/{name}.php"))).collect();
    for request in &requests {
        assert_eq!(server.fetch(request).status, 200);
    }
    let load = Load::start(server.port, 8, requests, |request, answer| {
        let right = answer.status == 200 && answer.text().starts_with("page ");
        if right { Ok(()) } else { Err(format!("{request:?}: {} {}", answer.status, answer.text())) }
    });
    load.wait_for(200);
    php.kill();
    let mut client = Client::connect(server.port);
    wait_for("stale pages", || {
        let answer = client.fetch(&Request::get("/0.php"));
        answer.cache() == "STALE" || answer.cache() == "UPDATING"
    });
    load.wait_for(500);
    php.restart();
    load.wait_for(500);
    let (answered, failures) = load.stop();
    assert!(
        failures.is_empty(),
        "{} of {}: {:?}",
        failures.len(),
        answered + failures.len(),
        &failures[..failures.len().min(5)]
    );
}

#[test]
fn popular_page_is_refreshed_before_expiry() {
    let site = Cached {
        server: "fastcgi_cache_valid 10s; fastcgi_cache_background_update on;",
        ..Cached::default()
    };
    let (server, origin) = site.start(|call| {
        let text = format!("page {}", call.number);
        call.answer("Content-Type: text/plain", text);
    });
    server.get("/quiet");
    let mut pages = ["/hot", "/hotter", "/hottest"].iter();
    assert!(
        pages.any(|uri| is_refreshed_in_time(&server, &origin, uri)),
        "the test had pauses in all three attempts"
    );
    assert_eq!(
        origin.calls().iter().filter(|uri| uri.contains("quiet")).count(),
        1,
        "a page without requests is not refreshed"
    );
}

/// Requests a page, with only hits, until the origin receives a second request. Returns false if the machine was
/// suspended so long that the last tenth of the page's validity may have elapsed between two requests.
fn is_refreshed_in_time(server: &Server, origin: &Origin, uri: &str) -> bool {
    let begun = Instant::now();
    server.get(uri);
    let mut last = Instant::now();
    while origin.calls().iter().filter(|call| call.ends_with(uri)).count() < 2 {
        assert!(begun.elapsed() < PATIENCE, "the page was not refreshed in time");
        thread::sleep(Duration::from_millis(50));
        let answer = server.get(uri);
        if last.elapsed() > Duration::from_millis(500) {
            return false;
        }
        assert_eq!(answer.cache(), "HIT", "each response is a fresh page");
        last = Instant::now();
    }
    true
}
