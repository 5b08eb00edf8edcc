//! Origins that are unavailable, slow or broken, and response fields that control the server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use myriad_tests::{Gate, Origin, Place, Request, Server, wait_for};

use super::serve_origin;

#[test]
fn error_pages_replace_php_s_where_they_are_intercepted() {
    let (server, _origin) = serve_origin(
        "error_page 404 500 /own.html; location = /own.html { return 200 own; }
         location /intercepted { fastcgi_intercept_errors on; fastcgi_pass @ORIGIN@; }",
        |call| {
            let status = if call.uri().ends_with("lost") { "404 Not Found" } else { "500 Broken" };
            call.answer(&format!("Status: {status}\nContent-Type: text/plain"), "php's");
        },
    );
    let page = |target: &str| {
        let answer = server.get(target);
        (answer.status, answer.text())
    };
    assert_eq!(page("/plain/lost"), (404, "php's".into()));
    assert_eq!(page("/plain/x"), (500, "php's".into()));
    assert_eq!(page("/intercepted/lost"), (404, "own".into()));
    assert_eq!(page("/intercepted/x"), (500, "own".into()));
}

#[test]
fn an_origin_that_is_not_there_is_a_502() {
    let (server, mut origin) = serve_origin("", |call| call.answer("Content-Type: text/plain", "here"));
    assert_eq!(server.get("/").text(), "here");
    origin.stop();
    let answer = server.get("/");
    assert_eq!(answer.status, 502);
    assert!(answer.text().contains("502 Bad Gateway"));
    server.log_has("connect() failed");
    let _back = Origin::start_at(&origin.address, |call| call.answer("Content-Type: text/plain", "back"));
    wait_for("the origin's return", || server.get("/").text() == "back");
}

#[test]
fn a_slow_origin_is_a_504_after_fastcgi_read_timeout() {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let (server, _origin) =
        serve_origin("location /slow { fastcgi_read_timeout 300ms; fastcgi_pass @ORIGIN@; }", move |_| {
            held.pass();
        });
    let began = Instant::now();
    let answer = server.get("/slow");
    assert_eq!(answer.status, 504);
    assert!(answer.text().contains("504 Gateway Time-out"));
    assert!(began.elapsed() >= Duration::from_millis(300));
    server.log_has("upstream timed out");
    gate.open();
}

#[test]
fn broken_answers_are_a_502_and_never_a_page() {
    let (server, origin) = serve_origin("", |call| match call.uri().trim_start_matches('/') {
        "silence" => {}
        "hang-up" => call.hang_up(),
        "half-head" => {
            call.send("Content-Type: text/pl");
            call.hang_up();
        }
        "no-head" => drop(call.send("this is no head\r\n\r\nbody")),
        "no-records" => {
            call.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
            call.hang_up();
        }
        "version" => {
            call.raw([9, 6, 0, 1, 0, 4, 0, 0, b'b', b'o', b'd', b'y']);
            call.hang_up();
        }
        "other-id" => {
            call.raw([1, 6, 0, 9, 0, 4, 0, 0, b'b', b'o', b'd', b'y']);
            call.hang_up();
        }
        "huge-head" => {
            for _ in 0..40 {
                call.send(format!("X-Long: {}\r\n", "x".repeat(4000)));
            }
            call.send("\r\nbody");
        }
        "status" => call.answer("Status: abc\nContent-Type: text/plain", "body"),
        other => panic!("{other}"),
    });
    for page in [
        "silence",
        "hang-up",
        "half-head",
        "no-head",
        "no-records",
        "version",
        "other-id",
        "huge-head",
        "status",
    ] {
        let answer = server.get(&format!("/{page}"));
        assert_eq!(answer.status, 502, "{page}: {}", answer.text());
        assert!(answer.text().contains("502 Bad Gateway"), "{page}");
    }
    assert_eq!(
        origin.count(),
        9,
        "a request that may have had an effect is not sent twice: {:?}",
        origin.calls()
    );
}

#[test]
fn a_body_that_breaks_off_does_not_look_whole() {
    let (server, _origin) = serve_origin("", |call| {
        let length = if call.uri() == "/length" { "Content-Length: 100\n" } else { "" };
        call.answer(&format!("{length}Content-Type: text/plain"), "the beginning");
        if call.uri() != "/short" {
            call.hang_up();
        }
    });
    for target in ["/length", "/chunked"] {
        let mut client = server.connect();
        let answer = client.try_fetch(&Request::get(target));
        let fooled = answer.as_ref().is_ok_and(|answer| answer.status == 200);
        assert!(!fooled, "{target}: {answer:?}");
    }
}

#[test]
fn x_accel_redirect_hands_over_to_another_location() {
    let mut place = Place::new();
    place.write("private/report.txt", "a private report");
    let origin = Origin::start(|call| {
        match call.uri() {
        "/file" => call.answer("X-Accel-Redirect: /private/report.txt\nContent-Type: text/x-own\nSet-Cookie: seen=1\nContent-Disposition: attachment", "unused"),
        "/named" => call.answer("X-Accel-Redirect: @named", "unused"),
        "/arguments" => call.answer("X-Accel-Redirect: /show?a=b", "unused"),
        "/climb" => call.answer("X-Accel-Redirect: /private/../../secret", "unused"),
        _ => call.answer("X-Accel-Redirect: /none", "unused"),
    }
    });
    place.set("ORIGIN", &origin.address);
    let http = "server { listen 127.0.0.1:@PORT@; root @DIR@/html; @PARAMS@ location / { fastcgi_pass @ORIGIN@; }
                location /private/ { internal; alias @DIR@/private/; } location @named { return 200 named; }
                location /show { internal; return 200 $uri?$args; } location /none { internal; return 404; } }";
    let server = Server::start(place, http);
    let file = server.get("/file");
    assert_eq!((file.status, file.text().as_str()), (200, "a private report"));
    assert_eq!(file.field("Content-Type"), Some("text/x-own"));
    assert_eq!(file.field("Content-Disposition"), Some("attachment"));
    assert_eq!(file.field("Set-Cookie"), Some("seen=1"));
    assert_eq!(file.field("X-Accel-Redirect"), None);
    assert_eq!(server.get("/named").text(), "named");
    assert_eq!(server.get("/arguments").text(), "/show?a=b");
    assert!(server.get("/climb").status >= 400);
    assert_eq!(
        server.get("/private/report.txt").status,
        404,
        "an internal location cannot be requested directly"
    );
}

#[test]
fn x_accel_charset_and_limit_rate_are_obeyed() {
    let (server, _origin) = serve_origin("", |call| match call.uri() {
        "/charset" => call.answer("Content-Type: text/plain\nX-Accel-Charset: koi8-r", "x"),
        _ => call.answer("Content-Type: text/plain\nX-Accel-Limit-Rate: 20000", "x".repeat(40_000)),
    });
    assert_eq!(server.get("/charset").field("Content-Type"), Some("text/plain; charset=koi8-r"));
    let began = Instant::now();
    let limited = server.get("/limited");
    assert_eq!((limited.body.len(), limited.field("X-Accel-Limit-Rate")), (40_000, None));
    assert!(began.elapsed() >= Duration::from_millis(700), "{:?}", began.elapsed());
}

#[test]
fn fields_are_hidden_and_passed_as_written() {
    let (server, _origin) = serve_origin(
        "location /hide { fastcgi_hide_header X-Secret; fastcgi_pass @ORIGIN@; }
         location /pass { fastcgi_pass_header X-Accel-Expires; fastcgi_pass @ORIGIN@; }
         location /ignore { fastcgi_ignore_headers X-Accel-Redirect; fastcgi_pass @ORIGIN@; }",
        |call| {
            let redirect = if call.uri() == "/ignore" { "X-Accel-Redirect: /none\n" } else { "" };
            call.answer(
                &format!("{redirect}Content-Type: text/plain\nX-Secret: s\nX-Accel-Expires: 10"),
                "page",
            );
        },
    );
    assert_eq!(server.get("/").field("X-Secret"), Some("s"));
    assert_eq!(server.get("/").field("X-Accel-Expires"), None);
    assert_eq!(server.get("/hide").field("X-Secret"), None);
    assert_eq!(server.get("/pass").field("X-Accel-Expires"), Some("10"));
    assert_eq!(server.get("/ignore").text(), "page");
}

#[test]
fn idle_connections_are_reused_and_dropped_when_origin_closes_them() {
    let mut place = Place::new();
    let origin = Origin::start(|call| {
        call.answer("Content-Type: text/plain", "page");
        if call.uri() == "/last" {
            call.end_and_close();
        }
    });
    place.set("ORIGIN", &origin.address);
    let http = "upstream php { server @ORIGIN@; keepalive 4; }
                server { listen 127.0.0.1:@PORT@; @PARAMS@ location / { fastcgi_keep_conn on; fastcgi_pass php; } }";
    let server = Server::start(place, http);
    let mut client = server.connect();
    for number in 1..=20 {
        let target = if number % 5 == 0 { "/last" } else { "/page" };
        let answer = client.fetch(&Request::get(target));
        assert_eq!(answer.status, 200, "request {number}");
    }
    assert_eq!(origin.count(), 20);
    assert!(origin.connections() <= 8, "{} connections for 20 requests", origin.connections());
}
