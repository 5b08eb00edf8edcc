//! Requests and their bodies: many concurrent requests, and requests that stall.
//!
//! covers: http3_max_concurrent_streams http3_stream_buffer_size

use std::time::Duration;

use myriad_tests::{HttpOrigin, Request, wait_for};

use super::{GET, POST, connect, connect_bare, has, headers, round_trip, start};

#[test]
fn stalled_requests_are_reset_after_timeout() {
    let server = start("", "client_header_timeout 5s;", "");
    let client = connect(&server);
    let head: &[u8] = b"\x01\x10\x00\x00\xd1\xd7\xc1\x50\x09localhost";
    let error = client.send_raw(&[(false, false, &head[..5])]).expect_err("no answer");
    assert!(error.contains("Reset") && error.contains("269"), "{error}");
    // A request that is followed by neither an end nor a body is valid.
    let mut client = connect(&server);
    let asked = client.send_raw(&[(false, false, head)]).expect("an answer");
    assert!(has(&asked, "403 Forbidden"));
    assert_eq!(client.get("/a.txt").status, 200);
    server.log_has("client timed out while processing HTTP/3 connection, client: 127.0.0.1");
}

#[test]
fn unread_responses_are_abandoned_after_timeout() {
    let server = start("", "send_timeout 1s;", "");
    server.write("html/large", vec![b'x'; 8 << 20]);
    let (mut client, _) = connect_bare(&server);
    let stream = client.open(false, &headers(&[b"\x00\x00", GET, b"\x51\x06/large"])).expect("a request");
    client.end(stream);
    client.wait_until("the log", || server.read("own.log").contains("/large"));
    server.log_has("client timed out while processing HTTP/3 connection, client: 127.0.0.1");
    assert_eq!(client.reset_code(stream), 268);
}

/// The body of a queued request is not read, and its buffer is full: the cancellation by the client is detected
/// nevertheless.
#[test]
fn cancelled_requests_with_full_body_buffer_are_finished_immediately() {
    let server = start(
        "",
        "limit_req_zone $server_name zone=turn:64k rate=1r/m; http3_stream_buffer_size 16k;",
        "location / { limit_req zone=turn burst=5; client_max_body_size 10m; proxy_pass http://127.0.0.1:1; }
         location = /a.txt { }",
    );
    let (mut client, _) = connect_bare(&server);
    let post = headers(&[b"\x00\x00", POST, b"\xc1"]);
    let first = client.open(false, &post).expect("a request");
    client.end(first);
    assert!(has(&client.answer(first).expect("an answer"), "502 Bad Gateway"));
    // Larger than its buffer, smaller than the flow control limit.
    let body = [&[0, 0x80, 0, 0x60, 0][..], &vec![b'x'; 24_576]].concat();
    let waiting = client.open(false, &[&post[..], &body].concat()).expect("a request");
    client.wait_until("the request", || server.read("error.log").contains("delaying request"));
    round_trip(&mut client);
    client.wait_until("the log", || server.read("own.log").contains("/a.txt"));
    assert_eq!(server.read("own.log").matches("POST").count(), 1, "{}", server.read("own.log"));
    client.reset(waiting, 0x10c);
    // The requests prevent an idle timeout, which would terminate it as well.
    wait_for("the end of the request", || {
        round_trip(&mut client);
        server.read("own.log").contains(" 499 ")
    });
    assert!(client.is_open());
}

#[test]
fn bodies_that_were_not_announced_or_are_not_as_long_are_taken_for_what_they_are() {
    let origin = HttpOrigin::start(|call| {
        let said = format!("<{}>", String::from_utf8_lossy(&call.body));
        call.answer("HTTP/1.1 200 OK", said);
    });
    let server = start(
        "",
        "",
        &format!("client_max_body_size 10; location / {{ proxy_pass http://{}; }}", origin.address),
    );
    let (mut client, _) = connect_bare(&server);
    let mut ask = |fields: &[u8], pieces: &[&[u8]]| {
        let stream = client.open(false, &headers(&[b"\x00\x00", GET, fields])).expect("a request");
        for (number, piece) in pieces.iter().enumerate() {
            client.wait(Duration::from_millis(if number == 0 { 50 } else { 0 }));
            client.send(stream, &[&[0, piece.len() as u8], *piece].concat()).expect("a piece");
        }
        client.end(stream);
        client.answer(stream).expect("an answer")
    };
    assert!(has(&ask(b"\xc1", &[b"0123456789"]), "<0123456789>"));
    assert!(has(&ask(b"\xc1", &[b"01234", b"56789"]), "<0123456789>"));
    assert!(has(&ask(b"\xc1", &[b"0123456789a"]), "413 Request Entity Too Large"));
    assert!(has(&ask(b"\xc1\x54\x012", &[b"a"]), "400 Bad Request"));
    assert!(has(&ask(b"\xc1\x54\x011", &[b"ab"]), "400 Bad Request"));
}

#[test]
fn requests_at_once_are_answered_at_once_and_bodies_arrive_whole() {
    let server = start("", "", "");
    let large: Vec<u8> =
        (0..2_000_000_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    server.write("html/large", &large);
    let mut client = connect(&server);
    let requests: Vec<Request> =
        (0..100).map(|index| Request::get(if index % 10 == 0 { "/large" } else { "/a.txt" })).collect();
    for (index, answer) in client.fetch_together(&requests).into_iter().enumerate() {
        let body = answer.expect("an answer").body;
        assert!(if index % 10 == 0 { body == large } else { body == b"a file" }, "{index}");
    }
}

#[test]
fn client_may_open_configured_number_of_concurrent_requests() {
    let server = start("", "http3_max_concurrent_streams 2;", "");
    let (mut client, _) = connect_bare(&server);
    client.told(0, 13).expect("settings");
    let [first, _] = [(); 2].map(|()| client.open(false, b"\x01").expect("half a request"));
    client.wait(Duration::from_millis(100));
    assert!(!client.may_open());
    client.reset(first, 0x10c);
    wait_for("room for another", || {
        client.wait(Duration::from_millis(10));
        client.may_open()
    });
    assert!(!client.may_open());
}

#[test]
fn unread_body_stalls_at_configured_buffer_size() {
    let server = start(
        "",
        "limit_req_zone $server_name zone=own:1m rate=1r/m; http3_stream_buffer_size 16k;",
        "location /turn { limit_req zone=own burst=9; }",
    );
    assert_eq!(connect(&server).get("/turn").status, 404);
    let (mut client, _) = connect_bare(&server);
    let body = vec![b'x'; 1_000_000];
    // The request waits in the queue for a minute.
    let post = headers(&[b"\x00\x00\xd4\xd7\x50\x09localhost\x51\x05/turn"]);
    let post = client.open(false, &[&post[..], b"\x00\x80\x0f\x42\x40"].concat()).expect("a request");
    let mut sent = 0;
    wait_for("room for the body", || {
        client.wait(Duration::from_millis(5));
        sent += client.fill(post, &body);
        sent >= 16 << 10
    });
    for _ in 0..10 {
        round_trip(&mut client);
        sent += client.fill(post, &body);
    }
    assert!(sent <= 48 << 10, "{sent}");
}
