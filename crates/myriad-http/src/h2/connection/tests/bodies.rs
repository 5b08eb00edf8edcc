//! Tests of windows, scheduling and completion of responses.

use bytes::Bytes;

use super::*;
use crate::Fields;

/// Sends GET requests and starts responses: each element of `bodies` is a stream and the length of its response body.
fn answering(connection: &mut Http2Server, bodies: &[(u32, usize)]) {
    for (stream, length) in bodies {
        feed(connection, &get(*stream)).expect("a request");
        connection.respond(*stream, 200, [], false);
        connection.send(*stream, Bytes::from(vec![b'x'; *length]), true);
    }
}

/// Returns stream, length and end flag of each DATA frame in the output.
fn pieces(connection: &mut Http2Server) -> Vec<(u32, usize, bool)> {
    let frames = take(connection);
    only(&frames, kind::DATA)
        .iter()
        .map(|it| (it.stream, it.payload.len(), it.flags == flag::END_STREAM))
        .collect()
}

#[test]
fn bodies_leave_within_both_windows() {
    let mut connection = greeted();
    feed(&mut connection, &settings(settings::INITIAL_WINDOW_SIZE, 3)).expect("settings");
    answering(&mut connection, &[(1, 5)]);
    assert_eq!(pieces(&mut connection), [(1, 3, false)]);
    // A window may become negative.
    feed(&mut connection, &[settings(settings::INITIAL_WINDOW_SIZE, 1), window(1, 2)].concat())
        .expect("windows");
    assert_eq!(pieces(&mut connection), []);
    assert!(!connection.wants_body(1));
    feed(&mut connection, &window(1, 1)).expect("a window");
    assert_eq!(pieces(&mut connection), [(1, 1, false)]);
    feed(&mut connection, &window(1, 1)).expect("a window");
    assert_eq!(pieces(&mut connection), [(1, 1, true)]);

    let mut connection = greeted();
    feed(&mut connection, &settings(settings::INITIAL_WINDOW_SIZE, 100_000)).expect("settings");
    answering(&mut connection, &[(1, 70_000)]);
    assert_eq!(pieces(&mut connection).iter().map(|(_, length, _)| length).sum::<usize>(), 65_535);
    feed(&mut connection, &window(0, 10_000)).expect("a window");
    assert_eq!(pieces(&mut connection), [(1, 4465, true)]);
}

#[test]
fn windows_never_grow_beyond_their_most() {
    let mut connection = greeted();
    assert_eq!(feed(&mut connection, &window(0, settings::MAX_WINDOW)), Err(ErrorCode::FlowControl));
    let mut connection = greeted();
    let received = feed(&mut connection, &[get(1), window(1, settings::MAX_WINDOW)].concat());
    assert_eq!(received.map(|all| all[1].clone()), Ok(ClientEvent::Reset { stream: 1 }));
    assert_eq!(resets(&take(&mut connection)), [(1, ErrorCode::FlowControl as u8)]);
    let mut connection = greeted();
    let grown =
        [get(1), window(1, 1), settings(settings::INITIAL_WINDOW_SIZE, settings::MAX_WINDOW)].concat();
    assert_eq!(feed(&mut connection, &grown), Err(ErrorCode::FlowControl));
}

#[test]
fn urgent_answers_go_first_and_incremental_ones_take_turns() {
    let mut connection = greeted();
    let update =
        |stream: u8, value: &[u8]| frame(kind::PRIORITY_UPDATE, 0, 0, &[&[0, 0, 0, stream], value].concat());
    let input = [update(3, b"u=3, i"), update(5, b"u=3,i"), update(7, b"u=1")].concat();
    feed(&mut connection, &input).expect("priorities");
    answering(&mut connection, &[(1, 17_000), (3, 17_000), (5, 17_000), (7, 5)]);
    let order: Vec<u32> = pieces(&mut connection).iter().map(|(stream, ..)| *stream).collect();
    assert_eq!(order, [7, 1, 1, 3, 5, 3, 5]);
}

#[test]
fn no_more_is_put_out_than_was_asked_for() {
    let mut connection = greeted();
    answering(&mut connection, &[(1, 40_000)]);
    connection.schedule(1);
    assert!(connection.output().len() < 100);
    connection.output().advance(1000);
    connection.schedule(1000);
    assert_eq!(connection.output().len(), MAX_FRAME + FRAME_HEADER);
}

#[test]
fn trailers_end_an_answer() {
    let mut connection = greeted();
    answering(&mut connection, &[]);
    feed(&mut connection, &[get(1), get(3)].concat()).expect("requests");
    for stream in [1, 3] {
        connection.respond(stream, 200, [], false);
        connection.send(stream, Bytes::from_static(b"x"), false);
    }
    connection.send_trailers(1, [("X-Sum", "1")].into_iter().collect());
    connection.send_trailers(3, Fields::new());
    let frames = take(&mut connection);
    let seen: Vec<_> = frames.iter().map(|it| (it.stream, it.kind, it.flags)).collect();
    assert_eq!(seen, [(1, 1, 4), (3, 1, 4), (1, 0, 0), (1, 1, 5), (3, 0, 1)]);
}

#[test]
fn what_is_read_of_a_body_is_given_back() {
    let mut connection = Http2Server::new(Http2ServerConfig { window: 10, ..Http2ServerConfig::default() });
    feed(&mut connection, &[hello(), post(1, &[]), data(1, false, b"0123456789")].concat()).expect("a body");
    take(&mut connection);
    connection.release(1, 5);
    assert_eq!(take(&mut connection), []);
    connection.release(1, 1);
    let frames = take(&mut connection);
    assert_eq!((frames[0].stream, &frames[0].payload[..]), (1, &[0, 0, 0, 6][..]));
    feed(&mut connection, &data(1, false, b"012345")).expect("within the window");
    let received = feed(&mut connection, &data(1, false, b"0"));
    assert_eq!(received, Ok(vec![ClientEvent::Reset { stream: 1 }]));
    assert_eq!(resets(&take(&mut connection)), [(1, ErrorCode::FlowControl as u8)]);
}

#[test]
fn padding_counts_and_is_given_back_at_once() {
    let mut connection = Http2Server::new(Http2ServerConfig { window: 10, ..Http2ServerConfig::default() });
    let padded = frame(kind::DATA, flag::PADDED, 1, b"\x07a\0\0\0\0\0\0\0");
    feed(&mut connection, &[hello(), post(1, &[]), padded].concat()).expect("a body");
    let frames = take(&mut connection);
    assert_eq!(only(&frames, kind::WINDOW_UPDATE).last().map(|it| it.payload[3]), Some(8));
}

#[test]
fn an_answer_ahead_of_the_body_waits_for_its_end_a_little() {
    let mut connection = greeted();
    feed(&mut connection, &[post(1, &[]), post(3, &[]), post(5, &[]), data(5, false, b"x")].concat())
        .expect("requests");
    for stream in [1, 3, 5] {
        connection.respond(stream, 204, [], true);
        assert!(connection.take_finished().is_some_and(|over| over.stream == stream && over.complete));
    }
    assert_eq!(resets(&take(&mut connection)), [(5, 0)]);
    assert_eq!(feed(&mut connection, &[data(1, true, b"x"), data(3, false, b"x")].concat()), Ok(vec![]));
    assert_eq!(resets(&take(&mut connection)), []);
    connection.await_lingering();
    connection.reset_lingering();
    assert_eq!(resets(&take(&mut connection)), [(3, 0)]);
}

#[test]
fn reset_by_either_side_is_reported_once() {
    let mut connection = greeted();
    feed(&mut connection, &[get(1), get(3), get(5)].concat()).expect("requests");
    let reset = frame(kind::RST_STREAM, 0, 1, &[0, 0, 0, 8]);
    assert_eq!(feed(&mut connection, &reset), Ok(vec![ClientEvent::Reset { stream: 1 }]));
    connection.respond(3, 200, [], false);
    connection.reset(3, ErrorCode::Internal);
    let next_finished = |connection: &mut Http2Server| {
        connection.take_finished().map(|over| (over.stream, over.complete, over.by_client))
    };
    assert_eq!(next_finished(&mut connection), Some((1, false, true)));
    assert_eq!(next_finished(&mut connection), Some((3, false, false)));
    assert_eq!(next_finished(&mut connection), None);
}

#[test]
fn frames_are_no_longer_than_asked_and_a_closed_window_is_seen() {
    let mut connection = greeted();
    feed(&mut connection, &get(1)).expect("a request");
    connection.respond(1, 200, [], false);
    connection.limit_frames(1, 30_000); // The client accepts less.
    assert!(!connection.is_stalled(1));
    connection.send(1, bytes::Bytes::from(vec![b'x'; 100_000]), true);
    let frames = take(&mut connection);
    let lengths: Vec<_> = only(&frames, kind::DATA).iter().map(|frame| frame.payload.len()).collect();
    assert_eq!(lengths, [16_384, 16_384, 16_384, 16_383]);
    assert!(connection.is_stalled(1));
    connection.limit_frames(1, 1000);
    let more = frame(kind::WINDOW_UPDATE, 0, 0, &2500u32.to_be_bytes());
    let of_stream = frame(kind::WINDOW_UPDATE, 0, 1, &2500u32.to_be_bytes());
    feed(&mut connection, &[more, of_stream].concat()).expect("updates");
    assert!(!connection.is_stalled(1));
    let frames = take(&mut connection);
    let lengths: Vec<_> = only(&frames, kind::DATA).iter().map(|frame| frame.payload.len()).collect();
    assert_eq!(lengths, [1000, 1000, 500]);
}

#[test]
fn bodies_ahead_of_a_small_window_are_refused_until_the_client_knows_of_it() {
    let mut connection = Http2Server::new(Http2ServerConfig { window: 10, ..Http2ServerConfig::default() });
    let early = [PREFACE, &post(1, &[]), &get(3)].concat();
    let received = feed(&mut connection, &early).expect("streams");
    assert_eq!(received, [ClientEvent::Request { stream: 3, end: true, malformed: None }]);
    assert_eq!(resets(&take(&mut connection)), [(1, ErrorCode::RefusedStream as u8)]);
    let mut connection = Http2Server::new(Http2ServerConfig::default());
    assert_eq!(feed(&mut connection, &early).map(|received| received.len()), Ok(2));
}

#[test]
fn stream_with_late_head_is_reset_and_its_block_still_decoded() {
    let mut connection = greeted();
    let request = get(1);
    let (first, rest) = request.split_at(12);
    assert_eq!(connection.late_stream(b""), None);
    assert!(connection.has_no_streams());
    assert_eq!(connection.late_stream(first), Some(1));
    connection.reset_late(1);
    assert_eq!(connection.late_stream(first), None);
    assert!(!connection.has_no_streams());
    assert_eq!(feed(&mut connection, &[first, rest].concat()), Ok(vec![]));
    assert_eq!(resets(&take(&mut connection)), [(1, ErrorCode::Protocol as u8)]);
    assert_eq!(feed(&mut connection, &get(3)).map(|received| received.len()), Ok(1));
}

#[test]
fn answers_ahead_of_bodies_that_do_not_come_end_their_streams() {
    let mut connection = greeted();
    feed(&mut connection, &post(1, &[])).expect("a request");
    connection.respond(1, 204, [], true);
    assert!(connection.is_lingering());
    connection.await_lingering();
    connection.reset_lingering();
    assert!(!connection.is_lingering());
    assert_eq!(resets(&take(&mut connection)), [(1, 0)]);
    assert_eq!(feed(&mut connection, &data(1, true, b"x")), Ok(vec![]));
}

#[test]
fn what_follows_an_answer_is_read_as_long_as_it_may_be_the_end() {
    let answered = || {
        let mut connection = greeted();
        feed(&mut connection, &post(1, &[])).expect("a request");
        connection.respond(1, 204, [], true);
        assert_eq!(feed(&mut connection, &data(1, false, b"test")), Ok(vec![]));
        assert_eq!(resets(&take(&mut connection)), []);
        connection
    };
    // The body finishes.
    let mut connection = answered();
    assert_eq!(feed(&mut connection, &data(1, true, b"")), Ok(vec![]));
    assert_eq!(resets(&take(&mut connection)), []);
    // The body violates a rule.
    let mut connection = answered();
    let head = post(1, &[]);
    feed(&mut connection, &head).expect("no more than a broken stream");
    assert_eq!(resets(&take(&mut connection)), [(1, ErrorCode::Protocol as u8)]);
    // The body is long.
    let mut connection = answered();
    for _ in 0..4 {
        feed(&mut connection, &data(1, false, &[0; 16_000])).expect("pieces");
    }
    assert_eq!(resets(&take(&mut connection)), [(1, ErrorCode::NoError as u8)]);
}

#[test]
fn each_upload_after_early_response_gets_full_linger_time() {
    let mut connection = greeted();
    feed(&mut connection, &[post(1, &[]), post(3, &[])].concat()).expect("requests");
    connection.respond(1, 204, [], true);
    connection.await_lingering();
    connection.respond(3, 204, [], true);
    take(&mut connection);
    connection.reset_lingering();
    assert_eq!(resets(&take(&mut connection)), [(1, 0)]);
    assert!(connection.is_lingering());
    connection.await_lingering();
    connection.reset_lingering();
    assert_eq!(resets(&take(&mut connection)), [(3, 0)]);
    assert!(!connection.is_lingering());
}
