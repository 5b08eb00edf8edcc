//! Subrequests with the rules of every request (coalescing, personal cookies, keys) and with specific rules: concurrent
//! execution, ordered output, cancellation with the parent.

use std::sync::Arc;

use myriad_tests::{
    Cached, Call, Gate, HttpCall, HttpOrigin, Origin, Place, Request, Server, all_at_once, wait_for,
};

/// Starts a site of files that include `/app/...`, which an origin serves.
fn pages(origin: &Origin, page: &str, app: &str) -> Server {
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    place.write("html/page.html", page);
    Server::start(
        place,
        &format!(
            "fastcgi_cache_path @DIR@/cache keys_zone=pages:1m;
             server {{ listen 127.0.0.1:@PORT@ backlog=1024; root @DIR@/html; ssi on; @PARAMS@
             fastcgi_param URI $uri; fastcgi_read_timeout 20s;
             location /app/ {{ {app} fastcgi_pass @ORIGIN@; }} }}"
        ),
    )
}

fn named(call: &mut Call) {
    let text = format!("[{} {}]", call.param("URI"), call.param("HTTP_COOKIE"));
    call.answer("Content-Type: text/plain", text);
}

#[test]
fn includes_are_asked_for_at_once_and_shown_in_order() {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let origin = Origin::start(move |call| {
        if call.param("URI") == "/app/first" {
            held.pass();
        }
        named(call);
    });
    let page = "a<!--#include virtual=\"/app/first\" -->b<!--#include virtual=\"/app/second\" -->c";
    let server = pages(&origin, page, "");
    let mut client = server.connect();
    client.send(Request::get("/page.html").bytes());
    // The second has completed while the first is still blocked.
    wait_for("the second include", || origin.finished() >= 1);
    gate.open();
    assert_eq!(client.answer().text(), "a[/app/first ]b[/app/second ]c");
}

#[test]
fn text_goes_out_before_an_include_that_takes_its_time() {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let origin = Origin::start(move |call| {
        held.pass();
        named(call);
    });
    let page = format!("{}<!--#include virtual=\"/app/slow\" -->.", "x".repeat(5000));
    let server = pages(&origin, &page, "");
    let mut client = server.connect();
    client.send(Request::get("/page.html").bytes());
    assert_eq!(client.head().status, 200);
    client.until(|seen| String::from_utf8_lossy(seen).matches('x').count() >= 5000);
    gate.open();
    let tail = client.until(|tail| tail.windows(5).any(|end| end == b"0\r\n\r\n"));
    assert!(String::from_utf8_lossy(&tail).contains("[/app/slow ]"));
}

#[test]
fn client_disconnect_aborts_pending_subrequest() {
    let origin = Origin::start(|call| {
        assert!(call.wait_for_hang_up(), "the connection to the origin is not closed");
    });
    let server = pages(&origin, "a<!--#include virtual=\"/app/never\" -->", "");
    let mut client = server.connect();
    client.send(Request::get("/page.html").bytes());
    origin.wait_for(1);
    drop(client);
    wait_for("the end of the include", || origin.finished() == 1);
}

#[test]
fn one_origin_request_makes_a_fragment_for_all_pages_that_wait() {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let origin = Origin::start(move |call| {
        held.pass();
        named(call);
    });
    let app = "fastcgi_cache pages; fastcgi_cache_key $uri; fastcgi_cache_valid 1h;";
    let server = pages(&origin, "a<!--#include virtual=\"/app/part\" -->b", app);
    let port = server.port;
    let asking = std::thread::spawn(move || all_at_once(port, 50, &Request::get("/page.html")));
    origin.wait_for(1);
    gate.open();
    for answer in asking.join().unwrap() {
        assert_eq!(answer.text(), "a[/app/part ]b");
    }
    assert_eq!(server.get("/app/part").text(), "[/app/part ]");
    assert_eq!(origin.count(), 1, "a direct request uses the same page");
}

#[test]
fn fragment_for_personal_cookie_is_not_shared() {
    let origin = Origin::start(named);
    let app = "fastcgi_cache pages; fastcgi_cache_key $uri; fastcgi_cache_valid 1h;";
    let server = pages(&origin, "<!--#include virtual=\"/app/part\" -->", app);
    let own = Request::get("/page.html").field("Cookie", "wordpress_logged_in_x=ada");
    assert!(server.fetch(&own).text().contains("ada"));
    assert_eq!(server.get("/page.html").text(), "[/app/part ]");
    assert!(server.fetch(&own).text().contains("ada"), "the shared fragment was served");
    assert_eq!(server.get("/page.html").text(), "[/app/part ]");
}

#[test]
fn a_page_and_its_includes_have_keys_of_their_own_whatever_the_key() {
    let site = Cached {
        server: "fastcgi_cache_valid 1h; ssi on; ssi_types text/plain; fastcgi_param URI $uri;",
        ..Cached::default()
    };
    let (server, origin) = site.start(|call| match call.param("URI") {
        "/page" => call.answer("Content-Type: text/plain", "page <!--#include virtual=\"/part?a\" -->."),
        other => {
            let text = format!("part {other}");
            call.answer("Content-Type: text/plain", text);
        }
    });
    for _ in 0..2 {
        assert_eq!(server.get("/page").text(), "page part /part.");
    }
    assert_eq!(origin.count(), 2, "page and fragment are stored");
}

#[test]
fn the_word_of_a_subrequest_is_asked_for_each_visitor() {
    let origin = Origin::start(|call| {
        let status = if call.param("HTTP_COOKIE") == "in=1" { "204" } else { "401" };
        call.answer(&format!("Status: {status}"), "");
    });
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    place.write("html/page.html", "page");
    let server = Server::start(
        place,
        "server { listen 127.0.0.1:@PORT@; root @DIR@/html; @PARAMS@
         location / { auth_request /auth; } location = /auth { internal; fastcgi_pass @ORIGIN@; } }",
    );
    for _ in 0..2 {
        let cookie = Request::get("/page.html").field("Cookie", "in=1");
        assert_eq!(server.fetch(&cookie).status, 200);
        assert_eq!(server.get("/page.html").status, 401);
    }
    assert_eq!(origin.count(), 4);
}

/// Sends the requested range of a text of 100,000 bytes.
fn film(call: &mut HttpCall) {
    let text: Vec<u8> = (0..100_000u32).map(|at| b'a' + (at / 1000 % 26) as u8).collect();
    let range = call.field("Range").and_then(|range| range.strip_prefix("bytes=")).expect("a range");
    let (first, last) = range.split_once('-').expect("first and last");
    let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
    let end = text.len().min(last + 1);
    let head = format!(
        "HTTP/1.1 206 Partial Content\nETag: \"film\"\nContent-Range: bytes {first}-{}/100000",
        end - 1
    );
    call.answer(&head, &text[first..end]);
}

#[test]
fn each_piece_of_a_sliced_answer_is_fetched_once_for_all_clients() {
    let origin = HttpOrigin::start(film);
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let server = Server::start(
        place,
        "proxy_cache_path @DIR@/cache keys_zone=pieces:10m;
         server { listen 127.0.0.1:@PORT@ backlog=1024;
         location / { slice 16k; proxy_pass http://@ORIGIN@; proxy_set_header Range $slice_range;
         proxy_cache pieces; proxy_cache_key $uri$slice_range; proxy_cache_valid 206 1h; } }",
    );
    for answer in all_at_once(server.port, 20, &Request::get("/film")) {
        assert_eq!((answer.status, answer.body.len()), (200, 100_000));
        assert!(answer.body[99_999] == b'v' && answer.body[16_384] == b'q');
    }
    assert_eq!(origin.count(), 7, "a request a piece");
    let part = server.fetch(&Request::get("/film").field("Range", "bytes=32000-34000"));
    assert_eq!((part.status, part.body.len()), (206, 2001));
    assert_eq!(origin.count(), 7);
    let other = server.fetch(&Request::get("/other").field("Range", "bytes=99999-"));
    assert_eq!((other.status, other.text().as_str()), (206, "v"));
    assert_eq!(origin.count(), 8, "a range needs only the slices that contain it");
}
