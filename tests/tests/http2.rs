//! HTTP/2 frames that curl does not send, valid and invalid.

use myriad_tests::frames::*;
use myriad_tests::{HttpOrigin, PATIENCE, Place, Server, Signal, wait_for};

const LARGE: usize = 200_000;

fn start(directives: &str) -> Server {
    let place = Place::new();
    place.write("html/large", vec![b'x'; LARGE]);
    let http = format!(
        "server {{ listen 127.0.0.1:@PORT@; http2 on; root @DIR@/html; {directives}
           location /small {{ return 200 small; }} }}"
    );
    Server::start(place, &http)
}

/// Asserts that the server still serves other clients.
fn is_well(server: &Server) {
    assert_eq!(server.get("/small").text(), "small");
    let mut other = Hand::greet(server.port, &[]);
    other.get(1, "/small", &[]);
    assert_eq!(other.body(1), b"small");
}

/// Error code `ENHANCE_YOUR_CALM`.
const CALM: u32 = 11;

/// Repeats an action until the server closes the connection; returns the error code.
fn until_enough(
    server: &Server,
    mut hand: Hand,
    most: u32,
    mut again: impl FnMut(&mut Hand, u32) -> bool,
) -> u32 {
    for number in 0..most {
        if !again(&mut hand, number) {
            break;
        }
    }
    let code = hand.wait_for(GOAWAY).code();
    server.log_has("while processing HTTP/2 connection");
    is_well(server);
    code
}

#[test]
fn rapid_resets_end_the_connection() {
    let server = start("");
    let hand = Hand::greet(server.port, &[]);
    let code = until_enough(&server, hand, 2000, |hand, number| {
        let stream = 2 * number + 1;
        hand.try_send(HEADERS, END_HEADERS | END_STREAM, stream, &head("GET", "/large", &[]))
            && hand.try_send(RST_STREAM, 0, stream, &8u32.to_be_bytes())
    });
    assert_eq!(code, CALM);
}

/// Type, flags, stream and payload of a frame.
type Sent = (u8, u8, u32, Vec<u8>);

#[test]
fn resets_that_the_server_is_made_to_send_end_the_connection() {
    let server = start("");
    // Frames that cause a server to reset a stream whose request it has begun to process (CVE-2025-8671).
    let causes: [fn(u32) -> Sent; 4] = [
        |stream| (WINDOW_UPDATE, 0, stream, 0u32.to_be_bytes().to_vec()),
        |stream| (WINDOW_UPDATE, 0, stream, 0x7fff_ffff_u32.to_be_bytes().to_vec()),
        |stream| (DATA, END_STREAM, stream, b"more".to_vec()),
        |stream| (HEADERS, END_HEADERS | END_STREAM, stream, head("GET", "/large", &[])),
    ];
    for cause in causes {
        let hand = Hand::greet(server.port, &[]);
        until_enough(&server, hand, 2000, |hand, number| {
            let stream = 2 * number + 1;
            let (kind, flags, stream, payload) = cause(stream);
            hand.try_send(HEADERS, END_HEADERS | END_STREAM, stream, &head("GET", "/large", &[]))
                && hand.try_send(kind, flags, stream, &payload)
        });
    }
}

#[test]
fn heads_without_end_and_heads_that_unpack_to_much_end_the_connection() {
    let server = start("");
    let mut hand = Hand::greet(server.port, &[]);
    hand.send(HEADERS, END_STREAM, 1, &head("GET", "/", &[]));
    let code = until_enough(&server, hand, 10_000, |hand, _| {
        hand.try_send(CONTINUATION, 0, 1, &block(&[("a", "b")]))
    });
    assert_eq!(code, CALM);
    // References the same table entry repeatedly.
    let mut hand = Hand::greet(server.port, &[]);
    let mut bomb = vec![0x40, 1, b'a', 0x7f, 0xc1, 0x0f];
    bomb.extend([b'x'; 2112]);
    bomb.extend([0xbe; 8000]);
    hand.send(HEADERS, END_HEADERS | END_STREAM, 1, &[head("GET", "/", &[]), bomb].concat());
    assert_eq!(hand.wait_for(GOAWAY).code(), CALM);
    is_well(&server);
}

#[test]
fn frames_that_lead_nowhere_end_the_connection() {
    let server = start("");
    for (kind, payload) in [(PING, vec![0; 8]), (SETTINGS, vec![]), (WINDOW_UPDATE, vec![0, 0, 0, 1])] {
        let hand = Hand::greet(server.port, &[]);
        let code = until_enough(&server, hand, 50_000, |hand, number| {
            // The responses are read, so that their backlog does not close the connection.
            hand.try_send(kind, 0, 0, &payload)
                && (kind == WINDOW_UPDATE || number % 64 != 63 || {
                    hand.until(kind);
                    true
                })
        });
        assert_eq!(code, CALM, "kind {kind}");
    }
}

#[test]
fn window_that_stays_shut_costs_its_stream_and_no_other() {
    let server = start("location /large { send_timeout 300ms; }");
    // SETTINGS_INITIAL_WINDOW_SIZE.
    let mut hand = Hand::greet(server.port, &[(4, 10)]);
    hand.get(1, "/large", &[]);
    let frames = hand.until(RST_STREAM);
    let sent: usize = frames.iter().filter(|frame| frame.kind == DATA).map(|frame| frame.payload.len()).sum();
    assert_eq!((sent, frames.last().map(|frame| frame.stream)), (10, Some(1)));
    hand.get(3, "/small", &[]);
    assert_eq!(hand.body(3), b"small");
    wait_for("the log", || {
        server.read("logs/access.log").contains("/large") || server.read("error.log").contains("timed out")
    });
}

#[test]
fn urgent_answers_leave_first_and_incremental_ones_in_turn() {
    let server = start("");
    // The whole response waits for the connection window.
    let mut hand = Hand::greet(server.port, &[(4, 1 << 20)]);
    hand.get(1, "/large", &[]);
    let drained: usize = std::iter::repeat_with(|| hand.next().expect("a frame"))
        .filter(|frame| frame.kind == DATA)
        .map(|frame| frame.payload.len())
        .scan(0, |sum, length| {
            *sum += length;
            Some(*sum)
        })
        .find(|sum| *sum == 65_535)
        .expect("the connection's window");
    assert_eq!(drained, 65_535);
    for (stream, priority) in [(3, "u=5"), (5, "u=0"), (7, "u=1, i"), (9, "u=1, i")] {
        hand.get(stream, "/large", &[("priority", priority)]);
    }
    hand.send(PING, 0, 0, &[0; 8]);
    hand.until(PING);
    hand.send(WINDOW_UPDATE, 0, 0, &(1u32 << 30).to_be_bytes());
    let mut order: Vec<u32> = Vec::new();
    let mut ended = Vec::new();
    while ended.len() < 5 {
        let frame = hand.next().expect("a frame");
        if frame.kind == DATA {
            order.push(frame.stream);
            if frame.flags & END_STREAM != 0 {
                ended.push(frame.stream);
            }
        }
    }
    assert_eq!((ended[0], ended[3], ended[4]), (5, 1, 3), "{ended:?}");
    let turns: Vec<u32> = order.iter().copied().filter(|stream| matches!(stream, 7 | 9)).collect();
    assert!(turns.windows(2).filter(|pair| pair[0] != pair[1]).count() > 20, "{turns:?}");
}

#[test]
fn connection_that_ends_serves_what_was_asked_before() {
    for signal in [Signal::HUP, Signal::QUIT] {
        let mut server = start("");
        let mut busy = Hand::greet(server.port, &[]);
        busy.get(1, "/large", &[]);
        busy.until(DATA);
        let mut idle = Hand::greet(server.port, &[]);
        idle.get(1, "/small", &[]);
        assert_eq!(idle.body(1), b"small");
        server.signal(signal);
        let told = idle.wait_for(GOAWAY);
        assert_eq!((told.code(), &told.payload[..4]), (0, &[0x7f, 0xff, 0xff, 0xff][..]));
        let ping = idle.wait_for(PING);
        // A request that crosses the GOAWAY in transit is served.
        idle.get(3, "/small", &[]);
        assert_eq!(idle.body(3), b"small");
        idle.send(PING, ACK, 0, &ping.payload);
        let last = idle.wait_for(GOAWAY);
        assert_eq!((last.code(), &last.payload[..4]), (0, &[0, 0, 0, 3][..]));
        assert_eq!(idle.next(), None);
        drop(idle);
        assert_eq!(busy.wait_for(GOAWAY).code(), 0);
        for stream in [0, 1] {
            busy.send(WINDOW_UPDATE, 0, stream, &(1u32 << 20).to_be_bytes());
        }
        busy.body(1);
        // The client has not acknowledged the shutdown, and the server waits only for a limited time.
        assert_eq!(busy.wait_for(GOAWAY).payload[..4], [0, 0, 0, 1]);
        assert_eq!(busy.next(), None);
        if signal == Signal::QUIT {
            drop(busy);
            assert!(server.ended());
        }
    }
}

#[test]
fn interim_response_is_sent_as_separate_headers_frame() {
    let origin = HttpOrigin::start(|call| {
        let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
        call.send(format!("{hints}HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", call.body.len()));
        call.send(call.body.clone());
    });
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let http = "server { listen 127.0.0.1:@PORT@; http2 on; location / { proxy_pass http://@ORIGIN@;
        proxy_http_version 1.1; early_hints 1; } }";
    let server = Server::start(place, http);
    let mut hand = Hand::greet(server.port, &[]);
    hand.send(
        HEADERS,
        END_HEADERS,
        1,
        &head("POST", "/", &[("expect", "100-continue"), ("content-length", "5")]),
    );
    // `:status: 100`: a name of the static table, and a Huffman-coded literal (RFC 7541 appendix B).
    assert!(hand.wait_for(HEADERS).payload.ends_with(&[0x08, 0x82, 0x08, 0x01]));
    hand.send(DATA, 0, 1, b"hel");
    hand.send(DATA, END_STREAM, 1, b"lo");
    let hint = hand.wait_for(HEADERS);
    assert_eq!((hint.stream, hint.flags & END_STREAM), (1, 0));
    let answer = hand.wait_for(HEADERS);
    assert_ne!(answer.payload, hint.payload);
    assert_eq!(hand.body(1), b"hello");
}

#[test]
fn missing_body_after_early_response_is_reset_with_no_error() {
    let server = start("");
    let mut hand = Hand::greet(server.port, &[]);
    hand.send(HEADERS, END_HEADERS, 1, &head("POST", "/small", &[("content-length", "5")]));
    let reset = hand.wait_for(RST_STREAM);
    assert_eq!((reset.stream, reset.code()), (1, 0));
}

#[test]
fn client_that_leaves_in_the_middle_is_logged_and_forgotten() {
    let origin = HttpOrigin::start(|call| {
        // The origin never responds.
        std::thread::park_timeout(PATIENCE);
        call.hang_up();
    });
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let http = "log_format own '$status $request_uri'; server { listen 127.0.0.1:@PORT@; http2 on; access_log @DIR@/own.log own;
        location / { proxy_pass http://@ORIGIN@; } location /small { return 200 small; } }";
    let server = Server::start(place, http);
    let mut hand = Hand::greet(server.port, &[]);
    for stream in [1, 3] {
        hand.get(stream, &format!("/{stream}"), &[]);
    }
    wait_for("the origin's requests", || origin.count() == 2);
    hand.send(RST_STREAM, 0, 1, &8u32.to_be_bytes());
    wait_for("the log", || server.read("own.log").contains("499 /1"));
    assert!(!server.read("own.log").contains("/3"));
    drop(hand);
    wait_for("the log", || server.read("own.log").contains("499 /3"));
    is_well(&server);
}

#[test]
fn control_bytes_in_fields_are_refused_and_other_bytes_are_passed_on() {
    let server = start("location /field { return 200 $http_x_a; }");
    let mut hand = Hand::greet(server.port, &[]);
    for (number, value) in ["a\x01b", "\x7f", "a\x1b[2J", "\x0b"].iter().enumerate() {
        let stream = 2 * number as u32 + 1;
        hand.get(stream, "/field", &[("x-a", value)]);
        let page = String::from_utf8(hand.body(stream)).expect("text");
        assert!(page.contains("400 Bad Request"), "{value:?}: {page}");
    }
    hand.get(9, "/field", &[("x-a", "a\té")]);
    assert_eq!(hand.body(9), "a\té".as_bytes());
}
