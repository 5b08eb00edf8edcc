//! Fields that HTTP/2 can transport and HTTP/1 cannot: written to an HTTP/1 origin they would form another request.

use myriad_tests::frames::{DATA, END_HEADERS, END_STREAM, HEADERS, Hand, block};

use super::Site;

const LINE: [(&str, &str); 4] =
    [(":method", "POST"), (":scheme", "http"), (":path", "/upload"), (":authority", "localhost")];

/// Returns the usual pseudo-header fields with one value changed.
fn changed(name: &'static str, value: &'static str) -> Vec<(&'static str, &'static str)> {
    LINE.iter().map(|(known, usual)| if *known == name { (name, value) } else { (*known, *usual) }).collect()
}

/// Returns the usual pseudo-header fields and further fields.
fn with(more: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    [&LINE[..], more].concat()
}

const SPLIT: &str = "x\r\n\r\nGET /hidden HTTP/1.1\r\nHost: a\r\nX: ";

fn heads() -> Vec<Vec<(&'static str, &'static str)>> {
    let mut heads = Vec::new();
    for name in [
        "transfer-encoding\r\nx",
        "x\r\ntransfer-encoding",
        "x: y\r\nz",
        "x:y",
        ":x",
        "x y",
        "x\0",
        "x\t",
        "",
        "X-Upper",
        "transfer-encoding: chunked\r\nx",
        "content-length ",
        " content-length",
        "x\u{e9}",
        "x(",
        "x\"",
        "x\x7f",
    ] {
        heads.push(with(&[(name, "1")]));
    }
    for value in [SPLIT, "a\nb: c", "a\rb: c", "a\0b", "\r\n", "\n"] {
        heads.push(with(&[("x-a", value)]));
        heads.push(with(&[("cookie", value)]));
        for name in [":method", ":path", ":scheme", ":authority"] {
            heads.push(changed(name, value));
        }
    }
    for (name, value) in [
        ("transfer-encoding", "chunked"),
        ("transfer-encoding", "identity"),
        ("connection", "transfer-encoding"),
        ("connection", "close"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("upgrade", "h2c"),
        ("te", "chunked"),
        ("content-length", "+5"),
        ("content-length", "5, 5"),
        ("content-length", "0x5"),
        ("content-length", ""),
        ("content-length", "99999999999999999999"),
        (":path", "/second"),
        (":method", "GET"),
        (":status", "200"),
        (":protocol", "websocket"),
        (":unknown", "x"),
    ] {
        heads.push(with(&[(name, value)]));
    }
    heads.push(with(&[("content-length", "5"), ("content-length", "6")]));
    for (name, value) in [
        (":method", "GET /hidden HTTP/1.1\r\nX: y"),
        (":method", "GET /hidden"),
        (":method", "G@T"),
        (":method", ""),
        (":path", "/a b"),
        (":path", "/ HTTP/1.1\r\nX: "),
        (":path", "upload"),
        (":path", ""),
        (":path", "/a\u{1}"),
        (":scheme", "http://localhost/hidden?"),
        (":authority", "local host"),
        (":authority", "local/host"),
        (":authority", "user@localhost"),
        (":authority", "localhost:80:80"),
    ] {
        heads.push(changed(name, value));
    }
    // Incomplete pseudo-header fields, and pseudo-header fields after other fields.
    heads.extend((0..3).map(|left_out| {
        LINE.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, field)| *field).collect()
    }));
    heads.push([&[("x-a", "1")], &LINE[..]].concat());
    heads
}

#[test]
fn fields_of_http2_that_http1_would_read_otherwise_reach_no_origin() {
    let site = Site::start("http2 on;");
    for head in heads() {
        let mut hand = Hand::greet(site.server.port, &[]);
        hand.try_send(HEADERS, END_HEADERS, 1, &block(&head));
        hand.try_send(DATA, END_STREAM, 1, b"AAAAA");
        hand.try_send(HEADERS, END_HEADERS | END_STREAM, 3, &block(&[("x-trailer", "1")]));
        let mut body = Vec::new();
        // A reset stream or a closed connection is a rejection like 400.
        for frame in hand.by_ref() {
            body.extend(frame.payload.iter().filter(|_| frame.kind == DATA && frame.stream == 1));
            let is_end =
                frame.kind <= HEADERS && frame.flags & END_STREAM != 0 || frame.kind == 3 || frame.kind == 7;
            if is_end {
                break;
            }
        }
        let text = String::from_utf8_lossy(&body);
        assert!(!text.contains("[5]"), "{head:?}: {text}");
    }
    let heads = site.origin.heads();
    assert!(heads.is_empty(), "{heads:?}");
    site.is_unharmed("fields of HTTP/2");
}

#[test]
fn lengths_of_http2_that_their_data_do_not_keep_reach_no_origin_as_they_are() {
    let site = Site::start("http2 on;");
    for (length, data) in [("0", "AAAAA"), ("4", "AAAAA"), ("6", "AAAAA"), ("5", "")] {
        let mut hand = Hand::greet(site.server.port, &[]);
        hand.send(HEADERS, END_HEADERS, 1, &block(&with(&[("content-length", length)])));
        hand.try_send(DATA, END_STREAM, 1, data.as_bytes());
        let refused = hand.by_ref().find(|frame| {
            frame.kind == 3
                || frame.kind == 7
                || frame.kind == DATA && frame.payload.windows(3).any(|part| part == b"400")
        });
        assert!(refused.is_some(), "{length} for {data:?}");
    }
    // With length 0, the request may be sent before the violation is detected.
    let heads = site.origin.heads();
    assert!(heads.iter().all(|head| head.contains("Content-Length: 0\n")), "{heads:?}");
    // A request with the correct length arrives with that length.
    let mut hand = Hand::greet(site.server.port, &[]);
    hand.send(HEADERS, END_HEADERS, 1, &block(&with(&[("content-length", "5")])));
    hand.send(DATA, END_STREAM, 1, b"AAAAA");
    assert_eq!(hand.body(1), b"POST /upload [5]");
    site.is_unharmed("lengths of HTTP/2");
}

#[test]
fn only_one_host_reaches_origin() {
    let site = Site::start("http2 on; proxy_set_header Host $host;");
    let mut hand = Hand::greet(site.server.port, &[]);
    let two = [
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/host"),
        (":authority", "localhost"),
        ("host", "evil.test"),
    ];
    hand.send(HEADERS, END_HEADERS | END_STREAM, 1, &block(&two));
    let _ = hand.by_ref().find(|frame| frame.stream == 1 && frame.flags & END_STREAM != 0 || frame.kind == 7);
    for head in site.origin.heads() {
        assert!(!head.contains("evil.test"), "{head}");
        assert_eq!(head.to_lowercase().matches("host:").count(), 1, "{head}");
    }
    site.is_unharmed("two hosts");
}
