//! Tests of the server with hand-written frames of a client.

mod bodies;
mod floods;
mod rules;

use std::io::IoSlice;

use super::*;
use crate::h2::frame::flag;

/// Frame sent by the server.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SentFrame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let header = FrameHeader { length: payload.len(), kind, flags, stream };
    [&header.bytes()[..], payload].concat()
}

/// Returns the preface of a client, with an acknowledgement of the server's settings.
fn hello() -> Vec<u8> {
    [PREFACE, &frame(kind::SETTINGS, 0, 0, &[]), &frame(kind::SETTINGS, flag::ACK, 0, &[])].concat()
}

/// Encodes a header block of literal fields.
fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        out.push(0);
        for text in [name, value] {
            out.push(text.len() as u8);
            out.extend_from_slice(text.as_bytes());
        }
    }
    out
}

fn request(method: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let line = [(":method", method), (":scheme", "http"), (":path", "/"), (":authority", "a.example")];
    block(&[&line[..], more].concat())
}

fn get(stream: u32) -> Vec<u8> {
    frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, stream, &request("GET", &[]))
}

fn post(stream: u32, more: &[(&str, &str)]) -> Vec<u8> {
    frame(kind::HEADERS, flag::END_HEADERS, stream, &request("POST", more))
}

fn data(stream: u32, end: bool, payload: &[u8]) -> Vec<u8> {
    frame(kind::DATA, if end { flag::END_STREAM } else { 0 }, stream, payload)
}

/// Returns a connection that has exchanged prefaces with a client, with empty output.
fn greeted() -> Http2Server {
    let mut connection = Http2Server::new(Http2ServerConfig::default());
    assert_eq!(feed(&mut connection, &hello()), Ok(vec![]));
    take(&mut connection);
    connection
}

/// Passes `input`, which consists of whole frames, to the connection. Returns the events except `Nothing`.
fn feed(connection: &mut Http2Server, mut input: &[u8]) -> Result<Vec<ClientEvent>, ErrorCode> {
    let mut head = RequestHead::new();
    let mut all = Vec::new();
    while !input.is_empty() {
        let ClientInput { consumed, event: received } =
            connection.receive(input, &mut head).map_err(|error| error.code)?;
        assert_ne!(received, ClientEvent::Partial, "{input:?}");
        if received != ClientEvent::Nothing {
            all.push(received);
        }
        input = &input[consumed..];
    }
    Ok(all)
}

/// Returns and removes the frames in the output.
fn take(connection: &mut Http2Server) -> Vec<SentFrame> {
    connection.schedule(usize::MAX);
    let output = connection.output();
    let mut bytes = Vec::new();
    while !output.is_empty() {
        let mut slices = [IoSlice::new(&[]); 8];
        let count = output.slices(&mut slices);
        let stretch: Vec<u8> = slices[..count].iter().flat_map(|slice| slice.iter().copied()).collect();
        output.advance(stretch.len());
        bytes.extend(stretch);
    }
    let mut rest = &bytes[..];
    let mut frames = Vec::new();
    while let Some(header) = FrameHeader::read(rest) {
        let (whole, after) = rest.split_at(FRAME_HEADER + header.length);
        let payload = whole[FRAME_HEADER..].to_vec();
        frames.push(SentFrame { kind: header.kind, flags: header.flags, stream: header.stream, payload });
        rest = after;
    }
    assert!(rest.is_empty());
    frames
}

/// Returns the frames of one type.
fn only(frames: &[SentFrame], kind: u8) -> Vec<&SentFrame> {
    frames.iter().filter(|frame| frame.kind == kind).collect()
}

/// Returns the reset streams and their error codes.
fn resets(frames: &[SentFrame]) -> Vec<(u32, u8)> {
    only(frames, kind::RST_STREAM).iter().map(|frame| (frame.stream, frame.payload[3])).collect()
}

/// Returns the error code of the `GOAWAY` in the output.
fn farewell(connection: &mut Http2Server) -> Option<u8> {
    only(&take(connection), kind::GOAWAY).first().map(|frame| frame.payload[7])
}

fn settings(id: u16, value: u32) -> Vec<u8> {
    frame(kind::SETTINGS, 0, 0, &[&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
}

fn window(stream: u32, more: u32) -> Vec<u8> {
    frame(kind::WINDOW_UPDATE, 0, stream, &more.to_be_bytes())
}

#[test]
fn both_sides_greet_and_acknowledge() {
    let mut connection = Http2Server::new(Http2ServerConfig::default());
    let frames = take(&mut connection);
    assert_eq!(frames[0].kind, kind::SETTINGS);
    assert_eq!(frames[0].payload[..6], [0, 3, 0, 0, 0, 128]);
    assert_eq!(frames[1].payload, (settings::MAX_WINDOW - 65_535).to_be_bytes());
    assert_eq!(feed(&mut connection, &hello()), Ok(vec![]));
    let ack = SentFrame { kind: kind::SETTINGS, flags: flag::ACK, stream: 0, payload: vec![] };
    assert_eq!(take(&mut connection), [ack]);
    let ping = frame(kind::PING, 0, 0, b"12345678");
    assert_eq!(feed(&mut connection, &ping), Ok(vec![]));
    assert_eq!(take(&mut connection)[0].payload, b"12345678");
}

#[test]
fn a_request_is_read_however_its_bytes_are_split() {
    let fields = request("POST", &[("content-length", "4"), ("cookie", "a"), ("cookie", "b")]);
    let (first, rest) = fields.split_at(20);
    let mut input = hello();
    input.extend(frame(kind::HEADERS, 0, 1, first));
    input.extend(frame(kind::CONTINUATION, 0, 1, &rest[..1]));
    input.extend(frame(kind::CONTINUATION, flag::END_HEADERS, 1, &rest[1..]));
    input.extend(frame(kind::DATA, flag::PADDED, 1, b"\x02abcd\0\0"));
    input.extend(data(1, true, b""));
    for split in 0..=input.len() {
        let mut connection = Http2Server::new(Http2ServerConfig::default());
        let mut head = RequestHead::new();
        let mut seen = Vec::new();
        let mut body = Vec::new();
        let mut at = 0;
        for end in [split, input.len()] {
            loop {
                let piece = &input[at..end];
                let got = connection.receive(piece, &mut head).expect("it is sound");
                if let ClientEvent::Data { data, .. } = &got.event {
                    body.extend_from_slice(&piece[data.clone()]);
                }
                at += got.consumed;
                match got.event {
                    ClientEvent::Partial => break,
                    ClientEvent::Nothing => {}
                    ClientEvent::Data { end, .. } => seen.push(format!("data {end}")),
                    other => seen.push(format!("{other:?}")),
                }
            }
        }
        assert_eq!(at, input.len());
        assert_eq!(seen, ["Request { stream: 1, end: false, malformed: None }", "data false", "data true"]);
        assert_eq!(body, b"abcd");
        assert_eq!(head.fields().get(b"cookie"), Some(&b"a; b"[..]));
    }
}

#[test]
fn an_answer_is_a_head_and_a_body_and_closes_the_stream() {
    let mut connection = greeted();
    feed(&mut connection, &get(1)).expect("a request");
    let fields: [(&[u8], &[u8]); 1] = [(b"Content-Type", b"text/plain")];
    assert!(connection.respond(1, 103, [], false));
    assert!(connection.respond(1, 200, fields, false));
    assert!(!connection.respond(1, 200, fields, false));
    assert!(connection.wants_body(1));
    connection.send(1, bytes::Bytes::from_static(b"hello"), true);
    assert!(!connection.wants_body(1));
    assert_eq!(connection.take_finished(), None);
    let frames = take(&mut connection);
    assert_eq!(frames.iter().map(|it| (it.kind, it.flags)).collect::<Vec<_>>(), [(1, 4), (1, 4), (0, 1)]);
    assert_eq!(frames[2].payload, b"hello");
    let over = connection.take_finished().expect("the stream is over");
    let heads = frames[..2].iter().map(|frame| frame.payload.len() as u64 + 9).sum();
    let sent = ResponseBytes { head: heads, body: 5, framing: 9 };
    assert_eq!(over, FinishedStream { stream: 1, sent, complete: true, by_client: false });
    assert_eq!(connection.take_finished(), None);
    let mut decoder = HpackDecoder::new(4096);
    let mut read = Vec::new();
    for head in &frames[..2] {
        let taken = decoder
            .decode(&head.payload, 100, 1000, |name, value| read.push((name.to_vec(), value.to_vec())));
        assert_eq!(taken, Ok(()));
    }
    let expected: [(&[u8], &[u8]); 3] =
        [(b":status", b"103"), (b":status", b"200"), (b"content-type", b"text/plain")];
    assert_eq!(read, expected.map(|(name, value)| (name.to_vec(), value.to_vec())));
}

#[test]
fn a_connection_that_leaves_serves_what_was_asked_before() {
    let mut connection = greeted();
    feed(&mut connection, &get(1)).expect("a request");
    connection.shut_down();
    let late = [get(3), data(3, true, b"")].concat();
    assert_eq!(feed(&mut connection, &late), Ok(vec![]));
    connection.respond(1, 204, [], true);
    let frames = take(&mut connection);
    assert_eq!(only(&frames, kind::GOAWAY)[0].payload, [0, 0, 0, 1, 0, 0, 0, 0]);
    assert_eq!(only(&frames, kind::HEADERS)[0].stream, 1);
    assert_eq!(connection.streams(), 0);
}

#[test]
fn a_request_that_crosses_the_notice_of_the_end_is_served() {
    let mut connection = greeted();
    connection.begin_graceful_shutdown();
    connection.begin_graceful_shutdown();
    let frames = take(&mut connection);
    assert_eq!(only(&frames, kind::GOAWAY).len(), 1);
    assert_eq!(only(&frames, kind::GOAWAY)[0].payload, [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    let ping = only(&frames, kind::PING)[0].payload.clone();
    assert!(connection.awaits_shutdown_ping() && !connection.is_shutting_down());
    let crossing = feed(&mut connection, &get(1)).expect("a request");
    assert!(!crossing.is_empty(), "the client could not know");
    // The response to another ping is not an acknowledgement of the `GOAWAY`.
    feed(&mut connection, &frame(kind::PING, flag::ACK, 0, b"12345678")).expect("an answer");
    assert!(connection.awaits_shutdown_ping());
    feed(&mut connection, &frame(kind::PING, flag::ACK, 0, &ping)).expect("an answer");
    assert!(connection.is_shutting_down() && !connection.awaits_shutdown_ping());
    assert_eq!(feed(&mut connection, &get(3)), Ok(vec![]));
    connection.respond(1, 204, [], true);
    let frames = take(&mut connection);
    assert_eq!(only(&frames, kind::GOAWAY)[0].payload, [0, 0, 0, 1, 0, 0, 0, 0]);
    assert_eq!(only(&frames, kind::HEADERS)[0].stream, 1);
}
