//! Clients that wait for an origin receive early hints from the last stored page: over HTTP/2, by curl.

use std::process::Command;

use myriad_tests::{HttpOrigin, Place, Server, wait_for};

const PAGE: &str = "<!doctype html><head><link rel=stylesheet href=\"/style.css?ver=1&#038;x=2\">
<script src=/app.js></script></head><body>page";

/// Returns the heads of all responses to one request, including interim responses, as printed by curl, in lower case.
fn heads(server: &Server, version: &str, fields: &[&str]) -> String {
    let mut curl = Command::new("curl");
    curl.args(["-sS", "--noproxy", "*", "--max-time", "20", version, "-D", "-", "-o", "/dev/null"]);
    for field in fields {
        curl.args(["-H", field]);
    }
    let output = curl.arg(format!("http://127.0.0.1:{}/", server.port)).output().expect("curl runs");
    String::from_utf8(output.stdout).expect("a head").to_lowercase()
}

fn start(directives: &str) -> (Server, HttpOrigin) {
    let origin = HttpOrigin::start(|call| {
        let links = "Link: <https://cdn.example>; rel=preconnect\nLink: </api>; rel=\"https://api.example/\"";
        call.answer(&format!("HTTP/1.1 200 OK\nContent-Type: text/html; charset=utf-8\n{links}"), PAGE);
    });
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let http = format!(
        "proxy_cache_path @DIR@/cache keys_zone=a:1m;
         server {{ listen 127.0.0.1:@PORT@; http2 on; early_hints_stored on; add_header X-Cache $upstream_cache_status;
            proxy_cache a; location / {{ proxy_pass http://@ORIGIN@; {directives} }} }}"
    );
    (Server::start(place, &http), origin)
}

const H2: &str = "--http2-prior-knowledge";
const NAVIGATES: &str = "Sec-Fetch-Mode: navigate";
const HINTS: &str = "http/2 103 \r\nlink: <https://cdn.example>; rel=preconnect\r\n\
    link: </style.css?ver=1&x=2>; rel=preload; as=style\r\nlink: </app.js>; rel=preload; as=script\r\n\r\nhttp/2 200";

#[test]
fn visitor_of_uncached_page_gets_early_hints_of_shared_page() {
    let (server, _origin) = start("proxy_cache_valid 200 1h;");
    let logged_in = "Cookie: wordpress_logged_in_1=x";
    let first = heads(&server, H2, &[NAVIGATES, logged_in]);
    assert!(!first.contains("103"), "no hints are stored yet: {first}");
    assert!(heads(&server, H2, &[]).contains("x-cache: miss"));
    let told = heads(&server, H2, &[NAVIGATES, logged_in]);
    assert!(told.starts_with(HINTS), "{told}");
    for (version, fields) in [
        (H2, &[NAVIGATES][..]),
        (H2, &["Sec-Fetch-Mode: cors", logged_in]),
        (H2, &[logged_in]),
        ("--http1.1", &[NAVIGATES, logged_in]),
    ] {
        let silent = heads(&server, version, fields);
        assert!(silent.contains(" 200 ") && !silent.contains(" 103 "), "{version} {fields:?}: {silent}");
    }
}

#[test]
fn visitor_waiting_for_expired_page_gets_its_early_hints() {
    let (server, _origin) = start("proxy_cache_valid 200 1s;");
    assert!(heads(&server, H2, &[NAVIGATES]).contains("x-cache: miss"));
    let mut expired = String::new();
    wait_for("the page to be over", || {
        expired = heads(&server, H2, &[NAVIGATES]);
        expired.contains("x-cache: expired")
    });
    assert!(expired.starts_with(HINTS), "{expired}");
}
