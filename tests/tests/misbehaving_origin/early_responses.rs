//! Responses that arrive before the request has been read.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use myriad_tests::frames::{END_STREAM, HEADERS, Hand, PING, RST_STREAM, block};
use myriad_tests::{PATIENCE, Wire};

use super::Site;

/// Length of the request body: larger than all buffers in its path.
const LENGTH: usize = 32 << 20;

/// Sends the request, and returns the bytes received until the connection closed or the response was complete.
fn post(site: &Site) -> String {
    let mut socket = TcpStream::connect(("127.0.0.1", site.server.port)).expect("a connection");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    let mut up = socket.try_clone().expect("a socket");
    let head = format!("POST /post HTTP/1.1\r\nHost: localhost\r\nContent-Length: {LENGTH}\r\n\r\n");
    let sender = thread::spawn(move || {
        let _ = up.write_all(head.as_bytes());
        let _ = up.write_all(&vec![b'x'; LENGTH]);
    });
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while !answer.ends_with(b"no") {
        match socket.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(count) => answer.extend(&piece[..count]),
        }
    }
    drop(socket);
    sender.join().expect("the sender");
    String::from_utf8_lossy(&answer).into_owned()
}

fn check(site: &Site, wire: &Wire) {
    for connections in 1..=2 {
        let answer = post(site);
        assert!(answer.starts_with("HTTP/1.1 413 ") && answer.ends_with("\r\n\r\nno"), "{answer}");
        assert_eq!(site.server.get("/good").text(), "good");
        assert_eq!(
            wire.connections(),
            connections,
            "the connection was reused although a request was not sent completely"
        );
    }
}

#[test]
fn over_http_1_it_is_passed_on_and_the_connection_is_left() {
    for field in ["Connection: close\r\n", ""] {
        let wire = Wire::start(move |call| {
            if call.head().is_some() {
                call.say(format!("HTTP/1.1 413 Too Large\r\n{field}Content-Length: 2\r\n\r\nno"));
                // The rest is not read; the connection closes when the server closes it.
                let _ = call.stream.peek(&mut [0]);
                while call.say("") && call.fill().is_some() {
                    call.buffer.clear();
                }
            }
        });
        let site =
            Site::start("proxy", &format!("proxy_http_version 1.1; proxy_pass http://{};", wire.address));
        check(&site, &wire);
    }
}

#[test]
fn over_http_2_it_is_passed_on_and_the_rest_is_not_sent() {
    let wire = Wire::start(|call| {
        let socket = call.stream.try_clone().expect("a socket");
        let Some(mut hand) = Hand::answering(socket) else { return };
        while let Some(frame) = hand.next() {
            match frame.kind {
                HEADERS => {
                    let head = block(&[(":status", "413"), ("content-length", "2")]);
                    hand.try_send(HEADERS, 4, frame.stream, &head);
                    hand.try_send(0, END_STREAM, frame.stream, b"no");
                    hand.try_send(RST_STREAM, 0, frame.stream, &[0; 4]);
                }
                PING if frame.flags == 0 => drop(hand.try_send(PING, 1, 0, &frame.payload)),
                _ => {}
            }
        }
    });
    let site = Site::start("proxy", &format!("proxy_http_version 2; proxy_pass http://{};", wire.address));
    for _ in 0..3 {
        let answer = post(&site);
        assert!(answer.starts_with("HTTP/1.1 413 ") && answer.ends_with("no"), "{answer}");
    }
    assert_eq!(site.server.get("/good").text(), "good");
    assert_eq!(wire.connections(), 1, "an HTTP/2 connection is reused after an incomplete request");
}
