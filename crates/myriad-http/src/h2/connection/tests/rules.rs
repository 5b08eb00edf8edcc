//! Tests of the errors that RFC 9113 defines.

use super::*;

/// Returns the code of the connection error that `input` after the preface causes, if any.
fn ends(input: &[u8]) -> Option<u8> {
    let mut connection = greeted();
    let result = feed(&mut connection, input);
    let code = farewell(&mut connection);
    assert_eq!(result.err().map(|code| code as u8), code);
    code
}

#[test]
fn only_http_2_is_taken() {
    for wrong in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\rX"] {
        let mut connection = Http2Server::new(Http2ServerConfig::default());
        assert_eq!(feed(&mut connection, wrong), Err(ErrorCode::Protocol));
    }
}

#[test]
fn peer_without_settings_gets_defaults() {
    let mut connection = Http2Server::new(Http2ServerConfig::default());
    let first = [PREFACE, &frame(kind::PING, 0, 0, &[0; 8])].concat();
    assert_eq!(feed(&mut connection, &first), Ok(vec![]));
}

#[test]
fn frames_of_wrong_sizes_end_the_connection() {
    let oversized = FrameHeader { length: MAX_FRAME + 1, kind: kind::DATA, flags: 0, stream: 1 }.bytes();
    let wrong = [
        oversized.to_vec(),
        frame(kind::SETTINGS, 0, 0, &[0; 5]),
        frame(kind::SETTINGS, flag::ACK, 0, &[0; 6]),
        frame(kind::PING, 0, 0, &[0; 7]),
        frame(kind::WINDOW_UPDATE, 0, 0, &[0; 3]),
        frame(kind::GOAWAY, 0, 0, &[0; 7]),
        [get(1), frame(kind::RST_STREAM, 0, 1, &[0; 3])].concat(),
    ];
    for input in wrong {
        assert_eq!(ends(&input), Some(ErrorCode::FrameSize as u8), "{input:?}");
    }
}

#[test]
fn frames_where_they_may_not_be_end_the_connection() {
    let open = frame(kind::HEADERS, flag::END_STREAM, 1, &request("GET", &[]));
    let wrong = [
        data(0, false, b"x"),
        data(1, false, b"x"),
        get(0),
        get(2),
        [get(5), get(3)].concat(),
        frame(kind::RST_STREAM, 0, 1, &[0; 4]),
        window(1, 1),
        window(0, 0),
        frame(kind::SETTINGS, 0, 1, &[]),
        frame(kind::PING, 0, 1, &[0; 8]),
        frame(kind::GOAWAY, 0, 1, &[0; 8]),
        frame(kind::PRIORITY, 0, 0, &[0; 5]),
        frame(kind::PUSH_PROMISE, 0, 1, &[0; 4]),
        frame(kind::CONTINUATION, flag::END_HEADERS, 1, &[]),
        [open.clone(), get(3)].concat(),
        [open.clone(), frame(kind::CONTINUATION, 0, 3, &[])].concat(),
        [open, frame(250, 0, 0, &[])].concat(),
        frame(kind::HEADERS, flag::END_HEADERS | flag::PADDED, 1, &[9, 0x82]),
        frame(kind::PRIORITY_UPDATE, 0, 1, &[0, 0, 0, 1]),
        frame(kind::PRIORITY_UPDATE, 0, 0, &[0; 4]),
    ];
    for input in wrong {
        assert_eq!(ends(&input), Some(ErrorCode::Protocol as u8), "{input:?}");
    }
}

#[test]
fn what_is_unknown_is_ignored() {
    let input =
        [frame(250, 0xff, 7, b"x"), settings(99, 1), get(1), frame(kind::PING, flag::ACK, 0, &[0; 8])];
    let mut connection = greeted();
    let request = ClientEvent::Request { stream: 1, end: true, malformed: None };
    assert_eq!(feed(&mut connection, &input.concat()), Ok(vec![request]));
}

#[test]
fn settings_out_of_range_end_the_connection() {
    assert_eq!(ends(&settings(settings::ENABLE_PUSH, 2)), Some(ErrorCode::Protocol as u8));
    assert_eq!(ends(&settings(settings::INITIAL_WINDOW_SIZE, 1 << 31)), Some(ErrorCode::FlowControl as u8));
    for size in [16_383, 1 << 24] {
        assert_eq!(ends(&settings(settings::MAX_FRAME_SIZE, size)), Some(ErrorCode::Protocol as u8));
    }
    assert_eq!(ends(&settings(settings::MAX_FRAME_SIZE, 16_384)), None);
}

#[test]
fn broken_compression_ends_the_connection() {
    let wrong = frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 1, &[0xff, 0xff]);
    assert_eq!(ends(&wrong), Some(ErrorCode::Compression as u8));
}

#[test]
fn frames_on_closed_streams_are_distinguished_by_cause() {
    let closed = ErrorCode::StreamClosed as u8;
    let mut connection = greeted();
    feed(&mut connection, &[get(1), get(3), get(5)].concat()).expect("requests");
    connection.respond(1, 204, [], true);
    assert_eq!(
        feed(&mut connection, &frame(kind::RST_STREAM, 0, 3, &[0, 0, 0, 8])),
        Ok(vec![ClientEvent::Reset { stream: 3 }])
    );
    // Window updates of closed streams may be in flight.
    assert_eq!(feed(&mut connection, &[window(1, 1), window(3, 1)].concat()), Ok(vec![]));
    assert_eq!(feed(&mut connection, &data(1, true, b"")), Ok(vec![]));
    assert_eq!(feed(&mut connection, &data(3, true, b"")), Ok(vec![]));
    assert_eq!(feed(&mut connection, &data(5, true, b"")), Ok(vec![ClientEvent::Reset { stream: 5 }]));
    assert_eq!(resets(&take(&mut connection)), [(1, closed), (3, closed), (5, closed)]);
    // Frames on a stream that the server has reset are ignored.
    assert_eq!(feed(&mut connection, &[data(5, false, b""), get(5)].concat()), Ok(vec![]));
    assert_eq!(resets(&take(&mut connection)), []);

    feed(&mut connection, &get(7)).expect("a request");
    connection.respond(7, 204, [], true);
    assert_eq!(feed(&mut connection, &get(7)), Err(ErrorCode::StreamClosed));
}

#[test]
fn a_second_head_ends_a_body_or_is_an_error() {
    let trailers = |flags: u8, fields| frame(kind::HEADERS, flag::END_HEADERS | flags, 1, &block(fields));
    let mut connection = greeted();
    let input = [post(1, &[]), trailers(flag::END_STREAM, &[("x", "y")])].concat();
    assert!(matches!(feed(&mut connection, &input).as_deref(), Ok([_, ClientEvent::Data { end: true, .. }])));
    for wrong in [trailers(0, &[("x", "y")]), trailers(flag::END_STREAM, &[(":path", "/")])] {
        let mut connection = greeted();
        let received =
            feed(&mut connection, &[post(1, &[]), wrong].concat()).expect("an error of the stream");
        assert_eq!(received[1], ClientEvent::Reset { stream: 1 });
        assert_eq!(resets(&take(&mut connection)), [(1, ErrorCode::Protocol as u8)]);
    }
}

#[test]
fn malformed_requests_are_answered_and_then_reset() {
    let mut connection = greeted();
    let bad = frame(
        kind::HEADERS,
        flag::END_HEADERS | flag::END_STREAM,
        1,
        &request("GET", &[("connection", "close")]),
    );
    let malformed = Some(ParseError::ConnectionField);
    assert_eq!(
        feed(&mut connection, &bad),
        Ok(vec![ClientEvent::Request { stream: 1, end: true, malformed }])
    );
    connection.respond(1, 400, [], false);
    connection.send(1, bytes::Bytes::from_static(b"no"), true);
    let frames = take(&mut connection);
    assert_eq!(
        frames.iter().map(|frame| frame.kind).collect::<Vec<_>>(),
        [kind::HEADERS, kind::DATA, kind::RST_STREAM]
    );
    assert_eq!(resets(&frames), [(1, ErrorCode::Protocol as u8)]);
}

#[test]
fn bodies_have_the_length_that_was_announced() {
    let announced = post(1, &[("content-length", "3")]);
    for wrong in [data(1, true, b"ab"), data(1, true, b"abcd"), data(1, false, b"abcd")] {
        let mut connection = greeted();
        let received =
            feed(&mut connection, &[announced.clone(), wrong].concat()).expect("an error of the stream");
        assert_eq!(received[1], ClientEvent::BodyMalformed { stream: 1 });
        connection.respond(1, 400, [], true);
        assert_eq!(resets(&take(&mut connection)), [(1, ErrorCode::Protocol as u8)]);
    }
    let fields = request("POST", &[("content-length", "3")]);
    let bodiless = frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 1, &fields);
    let malformed = Some(ParseError::InvalidLength);
    let received = feed(&mut greeted(), &bodiless);
    assert_eq!(received, Ok(vec![ClientEvent::Request { stream: 1, end: true, malformed }]));
}

#[test]
fn streams_that_depend_on_themselves_are_reset() {
    let mut connection = greeted();
    let fields = [&[0, 0, 0, 1, 16][..], &request("GET", &[])].concat();
    let flags = flag::END_HEADERS | flag::END_STREAM | flag::PRIORITY;
    feed(&mut connection, &frame(kind::HEADERS, flags, 1, &fields)).expect("an error of the stream");
    feed(&mut connection, &[get(3), frame(kind::PRIORITY, 0, 3, &[0, 0, 0, 3, 16])].concat())
        .expect("another");
    let protocol = ErrorCode::Protocol as u8;
    assert_eq!(resets(&take(&mut connection)), [(1, protocol), (3, protocol)]);
}

#[test]
fn any_bytes_are_read_without_harm() {
    let mut random = fastrand::Rng::with_seed(9);
    for _ in 0..3000 {
        let mut connection = greeted();
        for _ in 0..random.usize(1..8) {
            let length = random.usize(..24);
            let payload: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(length).collect();
            let payload = if random.bool() { request("GET", &[]) } else { payload };
            let input = frame(random.u8(..18), random.u8(..), random.u32(..6), &payload);
            if feed(&mut connection, &input).is_err() {
                break;
            }
            connection.respond(1, 200, [], random.bool());
            connection.send(1, bytes::Bytes::from_static(b"x"), random.bool());
            connection.release(1, random.usize(..70_000));
        }
        take(&mut connection);
    }
}
