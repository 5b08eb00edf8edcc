//! Clients that violate the protocol, or cause useless work.

use myriad_tests::{BareQuic, Server, wait_for};

use super::{GET, connect, connect_bare, headers, start};

/// Asserts that a client that sends these raw streams receives this error code of HTTP/3 or QPACK.
fn breaks(server: &Server, streams: &[(bool, bool, &[u8])], code: u64) {
    let client = connect(server);
    let _ = client.send_raw(streams);
    let why = format!("{:?}", client.ended());
    assert!(
        why.contains("ApplicationClosed") && why.contains(&format!("error_code: {code}")),
        "{streams:x?}: {why}"
    );
}

#[test]
fn clients_that_violate_protocol_get_matching_error_code() {
    let server = start("", "", "");
    // The library has opened a control stream: a second one is an error.
    breaks(&server, &[(true, false, b"\x00\x04\x00")], 0x103);
    breaks(&server, &[(true, false, b"\x01")], 0x103);
    breaks(&server, &[(false, false, b"\x00\x01x")], 0x105);
    breaks(&server, &[(false, false, b"\x04\x00")], 0x105);
    breaks(&server, &[(false, true, b"\x01\x05\x00")], 0x106);
    breaks(&server, &[(false, true, b"\x01\x03\x01\x00\x80")], 0x200);
    assert_eq!(connect(&server).get("/a.txt").status, 200);
}

#[test]
fn streams_that_make_no_sense_end_alone() {
    let server = start("", "", "location /upload { client_max_body_size 10; return 200 x; }");
    let mut client = connect(&server);
    // A stream without a request; a request whose body is longer than its declared length.
    let error = client.send_raw(&[(false, true, b"")]).expect_err("no answer");
    assert!(error.contains("Reset") && error.contains("269"), "{error}");
    // A unidirectional stream of unknown type.
    let _ = client.send_raw(&[(true, false, b"\x40\x99abc"), (false, true, b"")]);
    assert_eq!(client.get("/a.txt").status, 200);
    // A malformed request receives a response.
    let answer = client.send_raw(&[(false, true, b"\x01\x03\x00\x00\xd1")]).expect("an answer");
    assert!(answer.windows(15).any(|part| part == b"400 Bad Request"), "the built-in page");
    wait_for("the log", || server.read("own.log").contains(" 400 "));
}

#[test]
fn requests_that_are_broken_off_again_and_again_end_the_connection() {
    let server = start("", "http3_max_concurrent_streams 20; keepalive_requests 100000;", "");
    let (mut client, _) = connect_bare(&server);
    let ask = |client: &mut BareQuic, breaks_off: bool| {
        let request = headers(&[b"\x00\x00", GET, b"\x51\x06/a.txt"]);
        let sent = if breaks_off { &request[..5] } else { &request[..] };
        let Ok(stream) = client.open(false, sent) else { return false };
        if breaks_off {
            client.reset(stream, 0x10c);
            return true;
        }
        client.end(stream);
        client.answer(stream).is_ok()
    };
    // A client that is also served regularly may cancel the same number of requests.
    for _ in 0..150 {
        assert!(ask(&mut client, true) && ask(&mut client, false));
    }
    for _ in 0..400 {
        if !ask(&mut client, true) {
            break;
        }
    }
    let why = format!("{:?}", client.ended());
    assert!(why.contains(&format!("error_code: {}", 0x107)), "{why}");
    server.log_has("flood of resets while processing HTTP/3 connection, client: 127.0.0.1");
    assert_eq!(connect(&server).get("/a.txt").status, 200);
}

#[test]
fn requests_that_go_on_after_a_goaway_end_the_connection() {
    let server = start(
        "",
        "http3_max_concurrent_streams 20; keepalive_requests 1;",
        "location /slow { limit_rate 1; }",
    );
    server.write("html/slow", vec![b'x'; 100_000]);
    let (mut client, _) = connect_bare(&server);
    let ask = |client: &mut BareQuic, path: &[u8]| {
        let stream = client.open(false, &headers(&[b"\x00\x00", GET, path]))?;
        client.end(stream);
        Ok::<_, String>(stream)
    };
    ask(&mut client, b"\x51\x05/slow").expect("a request");
    client.told(0, 16).expect("settings and a GOAWAY");
    let asked = (0..400).take_while(|_| ask(&mut client, b"\x51\x06/a.txt").is_ok()).count();
    let why = format!("{:?}", client.ended());
    assert!(why.contains(&format!("error_code: {}", 0x107)) && asked >= 100, "{asked}: {why}");
    server.log_has("flood of rejected requests while processing HTTP/3 connection, client: 127.0.0.1");
}
