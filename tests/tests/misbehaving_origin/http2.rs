//! HTTP/2 origins.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use myriad_tests::frames::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, Hand, PING, PUSH_PROMISE, RST_STREAM,
    SETTINGS, WINDOW_UPDATE, block,
};
use myriad_tests::{Gate, Place, Server, Wire, wait_for};

use super::{Behaviour, Seen, Site};

use Seen::{Broken, Cut, Status};

/// Response of an origin to the request on this stream; false closes the connection.
type Act = fn(&mut Hand, u32) -> bool;

type Case = (&'static str, Act, Seen);

fn head(hand: &mut Hand, stream: u32, end: bool, fields: &[(&str, &str)]) -> bool {
    hand.try_send(HEADERS, END_HEADERS | if end { END_STREAM } else { 0 }, stream, &block(fields))
}

fn begin(hand: &mut Hand, stream: u32, length: &str) -> bool {
    head(hand, stream, false, &[(":status", "200"), ("content-length", length)])
}

fn data(hand: &mut Hand, stream: u32, end: bool, text: &str) -> bool {
    hand.try_send(DATA, if end { END_STREAM } else { 0 }, stream, text.as_bytes())
}

fn well(hand: &mut Hand, stream: u32, text: &str) -> bool {
    begin(hand, stream, &text.len().to_string()) && data(hand, stream, true, text)
}

/// Sends a frame until the server closes the connection, long before a million frames.
fn flood(hand: &mut Hand, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> bool {
    let length = (payload.len() as u32).to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    let many = frame.repeat(1000);
    let ended = (0..1000).any(|_| hand.socket.write_all(&many).is_err());
    assert!(ended, "a million frames of kind {kind} were taken");
    false
}

/// Returns an origin that executes the selected case once, and otherwise responds correctly.
fn origin(behaviour: &Behaviour) -> (Wire, Arc<Mutex<Option<Case>>>) {
    let (told, next) = (behaviour.clone(), Arc::new(Mutex::new(None::<Case>)));
    let set = Arc::clone(&next);
    let wire = Wire::start(move |call| {
        let socket = call.stream.try_clone().expect("a socket");
        let Some(mut hand) = Hand::answering(socket) else { return };
        let mut spoiled_by = None;
        while let Some(frame) = hand.next() {
            match frame.kind {
                HEADERS => {
                    if let Some(by) = spoiled_by {
                        told.carried_more(format!("{by}, then stream {}", frame.stream));
                    }
                    let case = set.lock().unwrap_or_else(PoisonError::into_inner).take();
                    let name = case.map_or("", |(name, ..)| name);
                    told.spoils(name);
                    match case {
                        None => {
                            // A case on a reused connection would be different: after an early close the server would
                            // retry the request.
                            hand.try_send(GOAWAY, 0, 0, &[[0, 0, 0, 1], [0; 4]].concat());
                            well(&mut hand, frame.stream, "well");
                            return;
                        }
                        Some((_, act, _)) if !act(&mut hand, frame.stream) => return,
                        Some(_) => spoiled_by = Some(name),
                    }
                }
                PING if frame.flags & ACK == 0 => drop(hand.try_send(PING, ACK, 0, &frame.payload)),
                _ => {}
            }
        }
    });
    (wire, next)
}

fn each(cases: &[Case]) {
    let behaviour = Behaviour::default();
    let (wire, next) = origin(&behaviour);
    let pass = format!("proxy_http_version 2; proxy_pass http://{};", wire.address);
    let site = Site::start("proxy", &pass);
    for (name, act, seen) in cases {
        *next.lock().unwrap_or_else(PoisonError::into_inner) = Some((*name, *act, *seen));
        site.visit(name, *seen, &behaviour);
    }
}

#[test]
fn truncated_or_stalled_response_is_reported() {
    each(&[
        ("closed", |_, _| false, Status(502)),
        ("stalled", |_, _| true, Status(504)),
        ("reset", |hand, stream| !hand.try_send(RST_STREAM, 0, stream, &[0, 0, 0, 2]), Status(502)),
        ("left", |hand, _| !hand.try_send(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 2]), Status(502)),
        ("half-frame", |hand, _| hand.socket.write_all(&[0, 0, 50, HEADERS, 4]).is_err(), Status(502)),
        ("half-frame-stalled", |hand, _| hand.socket.write_all(&[0, 0, 50, HEADERS, 4]).is_ok(), Status(504)),
        ("head-alone", |hand, stream| !begin(hand, stream, "100"), Broken),
        (
            "short",
            |hand, stream| begin(hand, stream, "100") && data(hand, stream, true, "the beginning"),
            Broken,
        ),
        (
            "short-closed",
            |hand, stream| !(begin(hand, stream, "100") && data(hand, stream, false, "the")),
            Broken,
        ),
        (
            "short-reset",
            |hand, stream| {
                let begun = begin(hand, stream, "100") && data(hand, stream, false, "the");
                !(begun && hand.try_send(RST_STREAM, 0, stream, &[0, 0, 0, 2]))
            },
            Broken,
        ),
        ("short-stalled", |hand, stream| begin(hand, stream, "100") && data(hand, stream, false, "the"), Cut),
        ("longer", |hand, stream| begin(hand, stream, "4") && data(hand, stream, true, "goodevil"), Broken),
    ]);
}

#[test]
fn what_is_no_answer_is_a_502() {
    each(&[
        ("words", |hand, _| hand.socket.write_all(b"HTTP/1.1 200 OK\r\n\r\nevil").is_ok(), Status(502)),
        ("no-status", |hand, stream| head(hand, stream, true, &[("x-a", "b")]), Status(502)),
        (
            "two-statuses",
            |hand, stream| head(hand, stream, true, &[(":status", "200"), (":status", "200")]),
            Status(502),
        ),
        ("status-of-words", |hand, stream| head(hand, stream, true, &[(":status", "evil")]), Status(502)),
        ("switched", |hand, stream| head(hand, stream, false, &[(":status", "101")]), Status(502)),
        (
            "late-status",
            |hand, stream| head(hand, stream, true, &[("x-a", "b"), (":status", "200")]),
            Status(502),
        ),
        (
            "unknown-pseudo",
            |hand, stream| head(hand, stream, true, &[(":status", "200"), (":x", "b")]),
            Status(502),
        ),
        (
            "capitals",
            |hand, stream| head(hand, stream, true, &[(":status", "200"), ("X-A", "b")]),
            Status(502),
        ),
        (
            "line-end",
            |hand, stream| head(hand, stream, true, &[(":status", "200"), ("x-a", "b\r\nx-b: c")]),
            Status(502),
        ),
        (
            "of-connection",
            |hand, stream| head(hand, stream, true, &[(":status", "200"), ("connection", "x-a")]),
            Status(502),
        ),
        (
            "two-lengths",
            |hand, stream| {
                head(
                    hand,
                    stream,
                    false,
                    &[(":status", "200"), ("content-length", "4"), ("content-length", "5")],
                )
            },
            Status(502),
        ),
        ("data-first", |hand, stream| data(hand, stream, true, "evil"), Status(502)),
        ("data-of-nobody", |hand, _| data(hand, 99, true, "evil"), Status(502)),
        ("answer-to-nobody", |hand, _| head(hand, 99, true, &[(":status", "200")]), Status(502)),
        (
            "pushed",
            |hand, stream| hand.try_send(PUSH_PROMISE, END_HEADERS, stream, &[0, 0, 0, 2]),
            Status(502),
        ),
        (
            "broken-block",
            |hand, stream| hand.try_send(HEADERS, END_HEADERS, stream, &[0xff; 20]),
            Status(502),
        ),
        ("large-frame", |hand, stream| hand.try_send(DATA, 0, stream, &vec![0; 20_000]), Status(502)),
        ("window-of-none", |hand, _| hand.try_send(WINDOW_UPDATE, 0, 0, &[0; 4]), Status(502)),
        (
            "window-too-large",
            |hand, stream| (0..2).all(|_| hand.try_send(WINDOW_UPDATE, 0, stream, &[0x7f, 0xff, 0xff, 0xff])),
            Status(502),
        ),
        (
            "settings-of-none",
            |hand, _| hand.try_send(SETTINGS, 0, 0, &[0, 4, 0xff, 0xff, 0xff, 0xff]),
            Status(502),
        ),
    ]);
}

#[test]
fn floods_and_bombs_end_that_connection_alone() {
    each(&[
        ("pings", |hand, _| flood(hand, PING, 0, 0, &[0; 8]), Status(502)),
        ("settings", |hand, _| flood(hand, SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1]), Status(502)),
        ("windows", |hand, stream| flood(hand, WINDOW_UPDATE, 0, stream, &[0, 0, 0, 1]), Status(502)),
        ("priorities", |hand, stream| flood(hand, 2, 0, stream, &[0; 5]), Status(502)),
        ("unknown-frames", |hand, _| flood(hand, 250, 0, 0, &[]), Status(502)),
        (
            "leave-taking",
            |hand, _| flood(hand, GOAWAY, 0, 0, &[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
            Status(502),
        ),
        ("resets-of-nobody", |hand, _| flood(hand, RST_STREAM, 0, 1, &[0, 0, 0, 8]), Status(502)),
        (
            "continuations",
            |hand, stream| {
                hand.try_send(HEADERS, 0, stream, &[]) && flood(hand, CONTINUATION, 0, stream, &[])
            },
            Status(502),
        ),
        (
            "long-continuations",
            |hand, stream| {
                hand.try_send(HEADERS, 0, stream, &[]) && flood(hand, CONTINUATION, 0, stream, &[0; 16_000])
            },
            Status(502),
        ),
        (
            "hints",
            |hand, stream| (0..1000).all(|_| head(hand, stream, false, &[(":status", "103")])),
            Status(502),
        ),
        (
            "bomb",
            |hand, stream| {
                let field = [&[0x40, 1, b'x', 120][..], &[b'y'; 120], &[0xbe; 10_000]].concat();
                let bomb = [block(&[(":status", "200")]), field].concat();
                hand.try_send(HEADERS, END_HEADERS | END_STREAM, stream, &bomb)
            },
            Status(502),
        ),
        (
            "empty-pieces",
            |hand, stream| begin(hand, stream, "100") && flood(hand, DATA, 0, stream, &[]),
            Broken,
        ),
        (
            "second-heads",
            |hand, stream| {
                begin(hand, stream, "100")
                    && flood(hand, HEADERS, END_HEADERS, stream, &block(&[(":status", "200")]))
            },
            Broken,
        ),
    ]);
}

#[test]
fn requests_that_are_all_reset_all_fail_with_502() {
    let wire = Wire::start(|call| {
        let socket = call.stream.try_clone().expect("a socket");
        let Some(mut hand) = Hand::answering(socket) else { return };
        while let Some(frame) = hand.next() {
            match frame.kind {
                HEADERS => drop(hand.try_send(RST_STREAM, 0, frame.stream, &[0, 0, 0, 8])),
                PING if frame.flags & ACK == 0 => drop(hand.try_send(PING, ACK, 0, &frame.payload)),
                _ => {}
            }
        }
    });
    let site = Site::start("proxy", &format!("proxy_http_version 2; proxy_pass http://{};", wire.address));
    for number in 0..300 {
        assert_eq!(site.server.get(&format!("/{number}")).status, 502);
    }
    assert_eq!(site.server.get("/good").text(), "good");
}

#[test]
fn protocol_violation_on_one_stream_leaves_other_streams_intact() {
    let (gate, begun) = (Arc::new(Gate::new()), Behaviour::default());
    let (held, told) = (Arc::clone(&gate), begun.clone());
    let wire = Wire::start(move |call| {
        let socket = call.stream.try_clone().expect("a socket");
        let Some(mut hand) = Hand::answering(socket) else { return };
        let mut streams = Vec::new();
        while let Some(frame) = hand.next() {
            if frame.kind == HEADERS {
                streams.push(frame.stream);
                told.spoils("");
            }
            if let [good, bad] = streams[..] {
                held.pass();
                head(&mut hand, bad, true, &[("x-no", "status")]);
                well(&mut hand, good, "whole");
                streams.clear();
            }
        }
    });
    let site = Site::start("proxy", &format!("proxy_http_version 2; proxy_pass http://{};", wire.address));
    let mut visitors = [site.server.connect(), site.server.connect()];
    for (number, visitor) in visitors.iter_mut().enumerate() {
        visitor.send(format!("GET /{number} HTTP/1.1\r\nHost: a\r\n\r\n"));
        wait_for("the request", || begun.asked() > number);
    }
    gate.open();
    assert_eq!(visitors[0].answer().text(), "whole");
    assert_eq!(visitors[1].answer().status, 502);
    assert_eq!(wire.connections(), 1);
}

#[test]
fn a_connection_that_falls_silent_is_found_out() {
    let wire = Wire::start(|call| {
        let socket = call.stream.try_clone().expect("a socket");
        let Some(mut hand) = Hand::answering(socket) else { return };
        let mut answered = 0;
        while let Some(frame) = hand.next() {
            // The first connection answers two requests, and then stops responding.
            if frame.kind == HEADERS && (call.number > 0 || answered < 2) {
                answered += 1;
                well(&mut hand, frame.stream, &call.number.to_string());
            }
        }
    });
    let mut place = Place::new();
    place.set("ORIGIN", &wire.address);
    let http = "upstream silent { server @ORIGIN@; keepalive 4; }
         server { listen 127.0.0.1:@PORT@; location / { proxy_http_version 2; proxy_pass http://silent; } }";
    let server = Server::start(place, http);
    for expected in ["0", "0", "1", "1"] {
        assert_eq!(server.get("/").text(), expected);
    }
    server.log_has(
        "upstream sends no data and does not respond to PING while reading response header from upstream",
    );
    assert_eq!(wire.connections(), 2);
}
