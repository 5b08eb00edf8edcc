//! Tests of client and server of this crate with each other.

use bytes::Bytes;

use super::*;
use crate::RequestHead;
use crate::h2::{ClientEvent, Http2Server, Http2ServerConfig};

/// Transfers bytes in both directions until neither side has output. Returns the events of the server and of the
/// client.
fn carry(client: &mut Http2Client, server: &mut Http2Server) -> (Vec<String>, Vec<String>) {
    let (mut asked, mut told) = (Vec::new(), Vec::new());
    loop {
        client.schedule(usize::MAX);
        let up = drain(client.output());
        let mut at = 0;
        let mut request = RequestHead::new();
        while at < up.len() {
            let got = server.receive(&up[at..], &mut request).expect("a sound client");
            match got.event {
                ClientEvent::Nothing => {}
                ClientEvent::Request { stream, end, malformed } => {
                    assert_eq!(malformed, None);
                    let line = String::from_utf8_lossy(request.request_line()).into_owned();
                    asked.push(format!("{stream} {line} {end}"));
                }
                ClientEvent::Data { stream, data, end } => {
                    server.release(stream, data.len());
                    asked.push(format!("{stream} {} {end}", data.len()));
                }
                other => asked.push(format!("{other:?}")),
            }
            at += got.consumed;
        }
        server.schedule(usize::MAX);
        let down = drain(server.output());
        told.extend(feed(client, &down).expect("a sound server"));
        if up.is_empty() && down.is_empty() {
            return (asked, told);
        }
    }
}

#[test]
fn a_request_and_its_answer_pass() {
    let (mut client, mut server) = (Http2Client::new(1000), Http2Server::new(Http2ServerConfig::default()));
    let id = ask(&mut client);
    let (asked, _) = carry(&mut client, &mut server);
    assert_eq!(asked, ["1 GET / HTTP/2.0 true"]);
    server.respond(id, 103, [(&b"Link"[..], &b"</a>"[..])], false);
    server.respond(id, 200, [(&b"X-A"[..], &b"1"[..])], false);
    server.send(id, Bytes::from_static(b"page"), true);
    assert_eq!(carry(&mut client, &mut server).1, ["1 103 false", "1 200 false", "1 \"page\" true"]);
    assert_eq!((client.streams(), lost(&mut client).len()), (0, 0));
    assert!(client.is_open());
}

#[test]
fn bodies_pass_both_ways_as_windows_allow() {
    let (mut client, mut server) = (
        Http2Client::new(1000),
        Http2Server::new(Http2ServerConfig { window: 500, ..Http2ServerConfig::default() }),
    );
    // The first exchange transfers the settings, which include a smaller window than the default.
    carry(&mut client, &mut server);
    let id = post(&mut client);
    client.send(id, Bytes::from(vec![b'x'; 2000]), true);
    let (asked, _) = carry(&mut client, &mut server);
    assert_eq!(asked.first().map(String::as_str), Some("1 GET / HTTP/2.0 false"));
    assert_eq!(asked.last().map(String::as_str), Some("1 500 true"));
    server.respond(id, 200, [], false);
    server.send(id, Bytes::from(vec![b'y'; 2500]), true);
    let mut got = 0;
    for _ in 0..10 {
        for event in carry(&mut client, &mut server).1 {
            let taken = event.matches('y').count();
            client.release(id, taken);
            got += taken;
        }
    }
    assert_eq!((got, client.streams()), (2500, 0));
}

#[test]
fn trailers_end_an_answer() {
    let (mut client, mut server) = (Http2Client::new(1000), Http2Server::new(Http2ServerConfig::default()));
    let id = ask(&mut client);
    carry(&mut client, &mut server);
    server.respond(id, 200, [], false);
    server.send(id, Bytes::from_static(b"page"), false);
    let mut fields = crate::Fields::new();
    fields.push(b"grpc-status", b"0");
    server.send_trailers(id, fields);
    assert_eq!(carry(&mut client, &mut server).1, ["1 200 false", "1 \"page\" false", "1 trailers 1"]);
    assert_eq!(client.streams(), 0);
}

#[test]
fn more_streams_than_the_server_takes_are_not_opened() {
    let config = Http2ServerConfig { max_streams: 2, ..Http2ServerConfig::default() };
    let (mut client, mut server) = (Http2Client::new(1000), Http2Server::new(config));
    carry(&mut client, &mut server);
    let first = ask(&mut client);
    ask(&mut client);
    assert!(!client.has_room() && client.is_open());
    assert_eq!(client.open(Method::Get, GET, true, 4096), None);
    carry(&mut client, &mut server);
    server.respond(first, 204, [], true);
    carry(&mut client, &mut server);
    assert_eq!(client.open(Method::Get, GET, true, 4096), Some(5));
    server.shut_down();
    carry(&mut client, &mut server);
    assert!(!client.is_open());
}

#[test]
fn header_table_size_of_server_is_respected() {
    let (mut client, mut server) = (Http2Client::new(1000), Http2Server::new(Http2ServerConfig::default()));
    carry(&mut client, &mut server);
    for round in 0..20 {
        let size = [0_u32, 4096, 100][round % 3];
        let settings = [&[0, 1][..], &size.to_be_bytes()].concat();
        feed(&mut client, &frame(kind::SETTINGS, 0, 0, &settings)).expect("settings");
        let long = [b'a'; 200];
        let fields = GET.into_iter().chain([(&b"x-long"[..], &long[..])]);
        let id = client.open(Method::Get, fields, true, 4096).expect("room");
        carry(&mut client, &mut server);
        server.respond(id, 204, [], true);
        carry(&mut client, &mut server);
    }
}
