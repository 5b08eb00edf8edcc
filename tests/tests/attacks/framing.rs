//! Request boundaries: fields that resemble framing fields, unexpected bodies, and bodies that the server waits for.

use myriad_tests::Request;

use super::{HIDDEN, Site, exchange};

/// Spellings of `Transfer-Encoding: chunked` that some servers accept and other servers ignore.
const OBFUSCATED: &[&str] = &[
    "Transfer-Encoding: xchunked",
    "Transfer-Encoding: chunkedx",
    "Transfer-Encoding : chunked",
    "Transfer-Encoding\t: chunked",
    "Transfer-Encoding\x0b: chunked",
    "Transfer-Encoding\0: chunked",
    "\0Transfer-Encoding: chunked",
    " Transfer-Encoding: chunked",
    "\tTransfer-Encoding: chunked",
    "X: x\r\n Transfer-Encoding: chunked",
    "X: x\rTransfer-Encoding: chunked",
    "X: x\nTransfer-Encoding: chunked",
    "Transfer-Encoding\n: chunked",
    "Transfer-Encoding\r\n: chunked",
    "Transfer-Encoding:\r\n chunked",
    "Transfer-Encoding:\n\tchunked",
    "Transfer-Encoding:\x0bchunked",
    "Transfer-Encoding:\x0cchunked",
    "Transfer-Encoding: \0chunked",
    "Transfer-Encoding: chunked\x0b",
    "Transfer-Encoding: chunked\0",
    "Transfer-Encoding: chun\0ked",
    "Transfer-Encoding: \x08chunked",
    "Transfer-Encoding: \x7fchunked",
    "Transfer-Encoding: \u{a0}chunked",
    "Transfer-Encoding: \u{e9}chunked",
    "Transfer-Encoding: \u{212a}chun\u{212a}ed",
    "Transfer-Encoding: 'chunked'",
    "Transfer-Encoding: \"chunked\"",
    "Transfer-Encoding: chunked;q=1",
    "Transfer-Encoding: chunked, identity",
    "Transfer-Encoding: identity, chunked",
    "Transfer-Encoding: chunked, chunked",
    "Transfer-Encoding: chunked, cow",
    "Transfer-Encoding: cow, chunked",
    "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding: , chunked",
    "Transfer-Encoding: chunked,",
    "Transfer-Encoding: identity",
    "Transfer-Encoding:",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\ntransfer-encoding: chunked",
    "Transfer-Encoding: chunked\r\nTransfer-encoding: cow",
    "TRANSFER-ENCODING: CHUNKED",
    "Transfer-Encoding: chunked",
];

#[test]
fn transfer_codings_in_disguise_are_refused_or_are_none_for_everybody() {
    let site = Site::start("");
    for field in OBFUSCATED {
        // A server that decodes chunks reads an empty body and a second request; a server that does not, reads a body
        // of that length.
        let hidden = format!("0\r\n\r\n{HIDDEN}x\r\n\r\n");
        for lines in [
            format!("Content-Length: {}\r\n{field}", hidden.len()),
            format!("{field}\r\nContent-Length: {}", hidden.len()),
        ] {
            let bytes = format!("POST /upload HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n\r\n{hidden}");
            let (answer, is_over) = exchange(&site.server, bytes.as_bytes());
            let status = answer.map(|answer| answer.status);
            assert!(matches!(status, Some(400 | 501)), "{lines:?} was answered {status:?}");
            assert!(is_over, "{lines:?} left the connection open");
        }
    }
    let heads = site.origin.heads();
    assert!(heads.is_empty(), "{heads:?}");
    site.is_unharmed("codings in disguise");
}

#[test]
fn names_that_an_application_takes_for_framing_are_not_passed_on() {
    let site = Site::start("");
    // Names after the CGI conversion, in which `-` and `_` are equal.
    for name in ["Transfer_Encoding: chunked", "Content_Length: 0", "Transfer.Encoding: chunked"] {
        let hidden = format!("0\r\n\r\n{HIDDEN}x\r\n\r\n");
        let head =
            format!("POST /upload HTTP/1.1\r\nHost: localhost\r\n{name}\r\nContent-Length: {}", hidden.len());
        let (answer, _) = exchange(&site.server, format!("{head}\r\n\r\n{hidden}").as_bytes());
        let text = answer.map(|answer| answer.text()).unwrap_or_default();
        assert_eq!(text, format!("POST /upload [{}]", hidden.len()), "{name}");
    }
    for head in site.origin.heads() {
        let names: Vec<_> =
            head.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name).collect();
        assert!(!names.iter().any(|name| name.contains(['_', '.'])), "{names:?}");
    }
    site.is_unharmed("names of CGI");
}

/// Locations that respond without reading the body, each in a different way.
const PLACES: &str = "
    location /files/ { }
    location /said { return 200 said; }
    location /moved { return 302 /elsewhere; }
    location /denied { deny all; }
    location /locked { auth_basic here; auth_basic_user_file @DIR@/none; }
    location /stored { proxy_cache pages; proxy_cache_valid any 1h; proxy_cache_key $uri; proxy_pass http://origin; }
    location /small { client_max_body_size 10; proxy_pass http://origin; }
    location /empty { empty_gif; }
    error_page 404 /files/page.txt;";

const TARGETS: &[&str] = &[
    "/files/page.txt",
    "/files",
    "/files/none",
    "/said",
    "/moved",
    "/denied",
    "/locked",
    "/stored",
    "/small",
    "/empty",
    "/origin",
];

#[test]
fn a_body_that_a_place_does_not_expect_is_no_request() {
    let site = Site::start(PLACES);
    assert_eq!(site.server.get("/stored").status, 200);
    let hidden = format!("{HIDDEN}x\r\n\r\n");
    for target in TARGETS {
        for method in ["GET", "HEAD", "OPTIONS", "DELETE", "POST", "PUT", "PROPFIND", "BREW"] {
            for framed in [
                format!("Content-Length: {}\r\n\r\n{hidden}", hidden.len()),
                format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{hidden}\r\n0\r\n\r\n", hidden.len()),
            ] {
                let mut client = site.server.connect();
                let _ = client.try_send(format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n{framed}"));
                let _ = client.try_send(Request::get("/next").bytes());
                let attack = format!("{method} {target} {framed:.20}");
                if client.try_answer(method).is_ok()
                    && let Ok(next) = client.try_answer("GET")
                {
                    assert_eq!(next.text(), "GET /next [0]", "{attack}");
                }
            }
        }
    }
    site.is_unharmed("bodies of all methods");
}

#[test]
fn a_body_that_waits_for_100_is_no_request_whatever_the_answer() {
    let site = Site::start(PLACES);
    let hidden = format!("{HIDDEN}x\r\n\r\n");
    for target in TARGETS {
        for expects in
            ["100-continue", "100-Continue", "y 100-continue", "100-continue, 100-continue", "200-ok", ""]
        {
            let mut client = site.server.connect();
            let head =
                format!("Host: localhost\r\nExpect: {expects}\r\nContent-Length: {}\r\n\r\n", hidden.len());
            client.send(format!("PUT {target} HTTP/1.1\r\n{head}"));
            if expects != "100-continue" {
                // A server that ignores the field waits for the body.
                let _ = client.try_send(&hidden);
            }
            let first = client.head();
            if expects == "100-continue" {
                let _ = client.try_send(&hidden);
            }
            let _ = client.try_send(Request::get("/next").bytes());
            client.finish_sending();
            let rest = String::from_utf8_lossy(&client.rest()).into_owned();
            let answers = rest.matches("HTTP/1.1 ").count() + 1;
            let interim = usize::from(first.status == 100);
            assert!(answers - interim <= 2, "{target} {expects}: {first:?} {rest}");
            assert!(!rest.contains("/hidden"), "{target} {expects}: {rest}");
        }
    }
    assert!(
        !site.origin.heads().iter().any(|head| head.contains("Expect:")),
        "`Expect` is not forwarded to an origin"
    );
    site.is_unharmed("bodies that wait");
}

#[test]
fn methods_with_chunks_reach_the_origin_with_one_length() {
    let site = Site::start("");
    let hidden = format!("{HIDDEN}x\r\n\r\n");
    for method in ["OPTIONS", "GET", "HEAD", "DELETE", "POST", "QUERY"] {
        let framed = format!("{:x}\r\n{hidden}\r\n0\r\nX-Trailer: a\r\n\r\n", hidden.len());
        let mut client = site.server.connect();
        client.send(format!(
            "{method} /body HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n{framed}"
        ));
        let answer = client.try_answer(method).expect("an answer");
        if method != "HEAD" {
            assert_eq!(answer.text(), format!("{method} /body [{}]", hidden.len()));
        }
        let head = site.origin.heads().pop().expect("a request").to_lowercase();
        let framings = head.matches("content-length:").count() + head.matches("transfer-encoding:").count();
        assert_eq!(framings, 1, "{method}: {head}");
        assert!(!head.contains("x-trailer"), "{head}");
    }
    site.is_unharmed("chunks with any method");
}

#[test]
fn lines_that_end_in_other_ways_hide_no_field() {
    let site = Site::start("");
    for line in [
        "X: a\rContent-Length: 50",
        "X: a\r\rContent-Length: 50",
        "X: a\r \nContent-Length: 50",
        "X: a\0\nContent-Length: 50",
        "X: a\u{2028}Content-Length: 50\r",
        "X\rContent-Length: 50",
    ] {
        let bytes = format!(
            "POST /upload HTTP/1.1\r\nHost: localhost\r\n{line}\r\nContent-Length: 0\r\n\r\n{HIDDEN}x\r\n\r\n"
        );
        let (answer, is_over) = exchange(&site.server, bytes.as_bytes());
        assert_eq!(answer.map(|answer| answer.status), Some(400), "{line:?}");
        assert!(is_over, "{line:?} left the connection open");
    }
    // A line may end with LF alone. The request is forwarded with CRLF, so that every recipient parses it in the same
    // way.
    let answer = exchange(&site.server, b"GET /lf HTTP/1.1\nHost: localhost\nX-A: a\nX-B: b\n\n").0;
    assert_eq!(answer.map(|answer| answer.text()).as_deref(), Some("GET /lf [0]"));
    let heads = site.origin.heads();
    assert!(
        heads.iter().any(|head| head.starts_with("GET /lf") && head.contains("X-A: a\nX-B: b")),
        "{heads:?}"
    );
    site.is_unharmed("ends of lines");
}
