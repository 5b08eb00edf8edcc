use super::frame::{kind, write_head, write_integer};
use super::*;
use crate::h1::HeadLimits;
use crate::{HttpVersion, Known, ParseError, RequestHead};

fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_head(&mut out, kind, payload.len());
    out.extend_from_slice(payload);
    out
}

fn headers(fields: &[(&str, &str)]) -> Vec<u8> {
    let (mut encoder, mut section) = (QpackEncoder::default(), Vec::new());
    QpackEncoder::begin(&mut section);
    for (name, value) in fields {
        encoder.field(name.as_bytes(), value.as_bytes(), &mut section);
    }
    frame(kind::HEADERS, &section)
}

fn get(more: &[(&str, &str)]) -> Vec<u8> {
    let line = [(":method", "GET"), (":scheme", "https"), (":path", "/a?b"), (":authority", "a.example")];
    headers(&[&line[..], more].concat())
}

/// Reads a request stream in pieces of `piece` bytes. Returns the head, the events as text, and the error, if any.
fn run(stream: &[u8], piece: usize) -> (RequestHead, Vec<String>, Option<Http3Error>) {
    let (mut reader, mut head, mut events) =
        (RequestReader::new(0), RequestHead::new(), Vec::<String>::new());
    let mut fields = QpackDecoder::default();
    let limits = HeadLimits { line: 300, total: 600, ..HeadLimits::default() };
    for chunk in stream.chunks(piece.max(1)) {
        let mut input = chunk;
        loop {
            match reader.receive(&mut input, &limits, &mut head, &mut fields) {
                Ok(RequestEvent::Partial) => break,
                Ok(RequestEvent::Data(data)) => {
                    match events.last_mut().filter(|last| last.starts_with("data ")) {
                        Some(last) => *last += &String::from_utf8_lossy(data),
                        None => events.push(format!("data {}", String::from_utf8_lossy(data))),
                    }
                }
                Ok(RequestEvent::Request { malformed, .. }) => events.push(format!("request {malformed:?}")),
                Ok(RequestEvent::Blocked) => {
                    events.push("blocked".to_owned());
                    return (head, events, None);
                }
                Ok(RequestEvent::Trailers) => events.push("trailers".to_owned()),
                Err(error) => return (head, events, Some(error)),
            }
        }
        assert!(input.is_empty());
    }
    let error = reader.finish().err();
    (head, events, error)
}

fn code(stream: &[u8]) -> Option<Http3ErrorCode> {
    run(stream, 1000).2.map(|error| error.code)
}

#[test]
fn a_request_is_read_however_its_bytes_are_cut() {
    let stream = [
        frame(0x21, b"grease"),
        get(&[("content-length", "6"), ("x-a", "1"), ("cookie", "a=1"), ("cookie", "b=2")]),
        frame(kind::DATA, b"abc"),
        frame(0x40, b""),
        frame(kind::DATA, b""),
        frame(kind::DATA, b"def"),
        headers(&[("x-trailer", "1")]),
        frame(0x21, b"more"),
    ]
    .concat();
    for piece in 1..stream.len() {
        let (head, events, error) = run(&stream, piece);
        assert_eq!(error, None);
        assert_eq!(events, ["request None", "data abcdef", "trailers"], "{piece}");
        assert_eq!((head.version(), head.request_line()), (HttpVersion::Http3, &b"GET /a?b HTTP/3.0"[..]));
        assert_eq!(head.known(Known::Cookie), Some(&b"a=1; b=2"[..]));
        assert_eq!(head.known(Known::Host), Some(&b"a.example"[..]));
    }
}

#[test]
fn frames_out_of_place_end_the_connection() {
    for stream in [
        frame(kind::DATA, b"x"),
        [get(&[]), headers(&[]), frame(kind::DATA, b"x")].concat(),
        [get(&[]), headers(&[]), headers(&[])].concat(),
        frame(kind::SETTINGS, b""),
        frame(kind::GOAWAY, b"\0"),
        [get(&[]), frame(kind::PUSH_PROMISE, b"\0")].concat(),
        frame(0x6, b""),
    ] {
        let error = run(&stream, 1000).2.expect("an error");
        assert_eq!(
            (error.code, error.scope),
            (Http3ErrorCode::FrameUnexpected, ErrorScope::Connection),
            "{stream:x?}"
        );
    }
    assert_eq!(code(&frame(kind::HEADERS, b"\x01\0\x80")), Some(Http3ErrorCode::QpackDecompression));
}

#[test]
fn truncated_streams_yield_distinct_error_codes() {
    assert_eq!(code(b""), Some(Http3ErrorCode::RequestIncomplete));
    let whole = get(&[]);
    assert_eq!(code(&whole[..whole.len() - 1]), Some(Http3ErrorCode::Frame));
    assert_eq!(code(&whole[..1]), Some(Http3ErrorCode::Frame));
    assert_eq!(code(&[whole.clone(), vec![0]].concat()), Some(Http3ErrorCode::Frame));
    assert_eq!(code(&[whole, frame(kind::DATA, b"")].concat()), None);
}

#[test]
fn bodies_are_as_long_as_announced() {
    let short = [get(&[("content-length", "3")]), frame(kind::DATA, b"ab")].concat();
    let long = [get(&[("content-length", "3")]), frame(kind::DATA, b"abcd")].concat();
    for stream in [short, long] {
        let error = run(&stream, 1000).2.expect("an error");
        assert_eq!((error.code, error.scope), (Http3ErrorCode::Message, ErrorScope::Stream));
    }
}

#[test]
fn malformed_requests_are_reported_and_oversized_ones_not_buffered() {
    let malformed = |stream: &[u8]| run(stream, 7).1.first().cloned();
    let expected = |error: ParseError| Some(format!("request {:?}", Some(error)));
    assert_eq!(malformed(&headers(&[(":method", "GET")])), expected(ParseError::InvalidPseudoField));
    assert_eq!(malformed(&get(&[("connection", "close")])), expected(ParseError::ConnectionField));
    assert_eq!(malformed(&get(&[("x", &"y".repeat(310))])), expected(ParseError::HeaderTooLarge));
    assert_eq!(malformed(&get(&[("x", &"y".repeat(5000))])), expected(ParseError::HeaderTooLarge));
    let trailers = [get(&[]), headers(&[("x", &"y".repeat(700))])].concat();
    assert_eq!(code(&trailers), Some(Http3ErrorCode::ExcessiveLoad));
    assert_eq!(code(&[get(&[]), headers(&[(":path", "/")])].concat()), Some(Http3ErrorCode::Message));
}

/// Reads a unidirectional stream of a client in pieces of `piece` bytes. Returns the streams that got a priority, and
/// the error, if any.
fn one_way(stream: &[u8], piece: usize) -> (Vec<u64>, Option<Http3ErrorCode>) {
    let (told, error) = read_one_way(stream, piece);
    (told, error.map(|error| error.code))
}

/// Like [`one_way`], but returns the complete error.
fn read_one_way(stream: &[u8], piece: usize) -> (Vec<u64>, Option<Http3Error>) {
    let (mut peer, mut role, mut kept, mut told) =
        (ClientUniStreams::default(), UniStreamRole::default(), Vec::new(), Vec::new());
    for chunk in stream.chunks(piece) {
        let mut input = chunk;
        loop {
            match peer.receive(&mut role, &mut kept, &mut input) {
                Ok(ControlEvent::Partial) => break,
                Ok(ControlEvent::Priority(stream, _)) => told.push(stream),
                Err(error) => return (told, Some(error)),
            }
        }
        assert!(input.is_empty() && kept.len() < 8);
    }
    (told, None)
}

fn control(frames: &[Vec<u8>]) -> Vec<u8> {
    [vec![0], frame(kind::SETTINGS, &[6, 0x40, 100, 0x21, 0]), frames.concat()].concat()
}

#[test]
fn control_stream_is_read_however_it_is_cut() {
    let stream = control(&[
        frame(kind::MAX_PUSH_ID, &[7]),
        frame(kind::PRIORITY_UPDATE, b"\x08u=1"),
        frame(0x21, b"xyz"),
    ]);
    for piece in 1..stream.len() {
        assert_eq!(one_way(&stream, piece), (vec![8], None));
    }
}

#[test]
fn control_stream_that_breaks_a_rule_ends_the_connection() {
    let ends = |stream: &[u8]| one_way(stream, 3).1;
    let with = |frame: Vec<u8>| ends(&control(&[frame]));
    assert_eq!(ends(&[vec![0], frame(kind::GOAWAY, &[0])].concat()), Some(Http3ErrorCode::MissingSettings));
    assert_eq!(with(frame(kind::SETTINGS, b"")), Some(Http3ErrorCode::FrameUnexpected));
    assert_eq!(with(frame(kind::DATA, b"x")), Some(Http3ErrorCode::FrameUnexpected));
    assert_eq!(with(frame(0x2, b"x")), Some(Http3ErrorCode::FrameUnexpected));
    assert_eq!(with(frame(kind::CANCEL_PUSH, &[0])), Some(Http3ErrorCode::Id));
    assert_eq!(with(frame(kind::PRIORITY_UPDATE, &[2])), Some(Http3ErrorCode::Id));
    assert_eq!(with(frame(kind::GOAWAY, &[0, 0])), Some(Http3ErrorCode::Frame));
    assert_eq!(with(frame(0x21, &[0; 5000])), Some(Http3ErrorCode::ExcessiveLoad));
    for settings in [&[2, 0][..], &[0x21, 0, 0x21, 1]] {
        assert_eq!(
            ends(&[vec![0], frame(kind::SETTINGS, settings)].concat()),
            Some(Http3ErrorCode::Settings)
        );
    }
    assert_eq!(ends(&[vec![0], frame(kind::SETTINGS, &[0x21])].concat()), Some(Http3ErrorCode::Frame));
}

#[test]
fn error_of_a_control_frame_names_the_violated_rule() {
    let reason = |frame: Vec<u8>| read_one_way(&control(&[frame]), 3).1.map(|error| error.reason);
    assert_eq!(reason(frame(0x2, b"x")), Some("frame type reserved for HTTP/2"));
    assert_eq!(reason(frame(0x21, &[0; 5000])), Some("control frame too large"));
}

#[test]
fn clients_may_fill_the_table_within_its_bounds_and_acknowledge_nothing() {
    assert_eq!(one_way(&[2, 0x20, 0x3f, 0xe1, 0x1f, 0xc0, 1, b'a', 0], 1).1, None);
    for stream in [
        &[2, 0x3f, 0xe2, 0x1f][..], // above the announced capacity
        &[2, 0xc0, 0],              // no capacity was set
        &[2, 0x3f, 0xe1, 0x1f, 0x80, 0],
        &[2, 0x3f, 0xe1, 0x1f, 0],
        &[2, 0x3f, 0xe1, 0x1f, 0xff, 0x24, 0],
        &[2, 0x3f, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[2, 0x3f, 0xe1, 0x1f, 0xc0, 0x82, 0xff, 0xff],
        &[2, 0x3f, 0xe1, 0x1f, 0xc0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff],
    ] {
        assert_eq!(one_way(stream, 1).1, Some(Http3ErrorCode::QpackEncoderStream), "{stream:x?}");
        assert_eq!(one_way(stream, 100).1, Some(Http3ErrorCode::QpackEncoderStream), "{stream:x?}");
    }
    assert_eq!(one_way(&[3, 0x44, 0x7f, 0x10], 1).1, None);
    for stream in [&[3, 0x80][..], &[3, 1], &[3, 0x7f, 255, 255, 255, 255, 255, 255]] {
        assert_eq!(one_way(stream, 1).1, Some(Http3ErrorCode::QpackDecoderStream), "{stream:x?}");
    }
    assert_eq!(one_way(&[1, 0], 1).1, Some(Http3ErrorCode::StreamCreation));
    assert_eq!(one_way(&[0x40, 0x99, 1, 2, 3], 1).1, None);
}

/// Tests a required insert count, which is transmitted modulo 256, after many further entries: the same bytes would
/// then require as many entries again, and block the stream a second time.
#[test]
fn blocked_section_whose_entries_were_evicted_closes_connection() {
    for (copies, expected) in [
        (90, Ok(false)),
        (130, Err(Http3ErrorCode::QpackDecompression)),
        (256, Err(Http3ErrorCode::QpackDecompression)),
    ] {
        let (mut peer, mut role) = (ClientUniStreams::default(), UniStreamRole::default());
        let (mut reader, mut head) = (RequestReader::new(0), RequestHead::new());
        let section = frame(kind::HEADERS, b"\x02\x00\xd1\xd7\xc1\x80");
        let mut input = &section[..];
        let mut is_blocked = |peer: &mut ClientUniStreams| {
            let event = reader.receive(&mut input, &HeadLimits::default(), &mut head, peer.fields());
            event.map(|event| event == RequestEvent::Blocked).map_err(|error| error.code)
        };
        assert_eq!(is_blocked(&mut peer), Ok(true));
        let instructions = [&b"\x02\x3f\xe1\x1f\xc0\x00"[..], &vec![0; copies]].concat();
        peer.receive(&mut role, &mut Vec::new(), &mut &instructions[..]).expect("entries");
        assert_eq!(is_blocked(&mut peer), expected, "{copies}");
    }
}

#[test]
fn oversized_table_entry_is_refused_at_its_length_prefix() {
    /// Returns the number of stored bytes of an incomplete instruction.
    fn stored_len(instruction: &[&[u8]]) -> Result<usize, Http3ErrorCode> {
        let (mut peer, mut role, mut kept) =
            (ClientUniStreams::default(), UniStreamRole::default(), Vec::new());
        let bytes = [&[2][..], &instruction.concat()].concat();
        for piece in bytes.chunks(1000) {
            peer.receive(&mut role, &mut kept, &mut &piece[..]).map_err(|error| error.code)?;
        }
        Ok(kept.len())
    }
    const REFUSED: Result<usize, Http3ErrorCode> = Err(Http3ErrorCode::QpackEncoderStream);
    // 4064 plain bytes; 15,240 bytes in codes of 30 bits.
    assert_eq!(stored_len(&[b"\xc0\x7f\xe1\x1e", &[b'a'; 4063]]), Ok(4067));
    assert_eq!(stored_len(&[b"\xc0\x7f\xe2\x1e"]), REFUSED);
    assert_eq!(stored_len(&[b"\xc0\xff\x89\x76", &[b'a'; 15_239]]), Ok(15_243));
    assert_eq!(stored_len(&[b"\xc0\xff\x8a\x76"]), REFUSED);
    // Name and value share the limit.
    let name: &[u8] = &[&b"\x5f\xb0\x1e"[..], &[b'a'; 3919]].concat();
    assert!(stored_len(&[name, b"\x7f\x12"]).is_ok());
    assert_eq!(stored_len(&[name, b"\x7f\x13"]), REFUSED);
    assert_eq!(stored_len(&[b"\x7f\xe9\x76"]), Ok(3));
    assert_eq!(stored_len(&[b"\x7f\xea\x76"]), REFUSED);
}

#[test]
fn second_control_stream_ends_the_connection() {
    let mut peer = ClientUniStreams::default();
    let mut roles = [UniStreamRole::default(), UniStreamRole::default()];
    let mut outcomes = roles
        .iter_mut()
        .map(|role| peer.receive(role, &mut Vec::new(), &mut &[0_u8][..]).map_err(|error| error.code));
    assert_eq!(outcomes.next(), Some(Ok(ControlEvent::Partial)));
    assert_eq!(outcomes.next(), Some(Err(Http3ErrorCode::StreamCreation)));
}

#[test]
fn control_streams_and_responses_are_encoded_as_in_rfc() {
    let [control, encoder, decoder] = server_stream_prefaces(600);
    assert_eq!(
        (control, encoder, decoder),
        (vec![0, 4, 9, 1, 0x50, 0, 6, 0x42, 0x58, 7, 0x40, 128], vec![2], vec![3])
    );
    assert_eq!(goaway(64), [7, 2, 0x40, 64]);
    let (mut out, mut section) = (Vec::new(), Vec::new());
    let fields: [(&[u8], &[u8]); 2] = [(b"Connection", b"close"), (b"Accept-Ranges", b"bytes")];
    response_head(200, fields.into_iter(), &mut QpackEncoder::default(), &mut section, &mut out);
    data_frame(70, &mut out);
    assert_eq!(out, [1, 4, 0, 0, 0xd9, 0xe0, 0, 0x40, 70]);
    let mut number = Vec::new();
    write_integer(&mut number, 70);
    assert_eq!(number, [0x40, 70]);
}

/// Checks that random input causes no panic, and that little state is stored.
#[test]
fn no_bytes_make_the_readers_panic() {
    let mut seed = 7_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u8
    };
    let sound = [get(&[("x", "y")]), frame(kind::DATA, b"abc")].concat();
    for round in 0..20_000 {
        let mut bytes: Vec<u8> = match round % 3 {
            0 => (0..random() % 40).map(|_| random()).collect(),
            1 => sound.clone(),
            _ => control(&[frame(kind::PRIORITY_UPDATE, b"\x08u=1")]),
        };
        if !bytes.is_empty() {
            let at = usize::from(random()) % bytes.len();
            bytes[at] ^= random();
        }
        let piece = usize::from(random() % 9) + 1;
        run_any(&bytes, piece);
    }
}

fn run_any(bytes: &[u8], piece: usize) {
    let _ = run(bytes, piece);
    let (mut peer, mut role, mut kept) = (ClientUniStreams::default(), UniStreamRole::default(), Vec::new());
    for chunk in bytes.chunks(piece) {
        let mut input = chunk;
        while peer
            .receive(&mut role, &mut kept, &mut input)
            .is_ok_and(|control| control != ControlEvent::Partial)
        {}
        assert!(kept.len() < 600, "the streams are short");
    }
}
