//! Tests of floods of frames by clients.

use super::*;

/// Passes `input` to a connection repeatedly, whose output is always read. Returns the number of repetitions before the
/// one that fails; `None` if none of `most` fails.
fn patience_with(
    connection: &mut Http2Server,
    most: u32,
    mut input: impl FnMut(u32) -> Vec<u8>,
) -> Option<u32> {
    (0..most).find(|round| {
        let result = feed(connection, &input(*round));
        take(connection);
        if let Err(code) = result {
            assert_eq!(code, ErrorCode::EnhanceYourCalm);
        }
        result.is_err()
    })
}

#[test]
fn rapid_resets_end_the_connection() {
    let reset =
        |round: u32| [get(round * 2 + 1), frame(kind::RST_STREAM, 0, round * 2 + 1, &[0; 4])].concat();
    assert_eq!(patience_with(&mut greeted(), 1000, reset), Some(256));
    let provoked = |round: u32| [get(round * 2 + 1), window(round * 2 + 1, 0)].concat();
    assert_eq!(patience_with(&mut greeted(), 1000, provoked), Some(256));
}

#[test]
fn resets_among_answered_requests_are_fine() {
    let mut connection = greeted();
    for round in 0..2000 {
        let (lost, answered) = (round * 4 + 1, round * 4 + 3);
        let input = [get(lost), get(answered), frame(kind::RST_STREAM, 0, lost, &[0; 4])].concat();
        feed(&mut connection, &input).expect("it is served");
        connection.respond(answered, 204, [], true);
        take(&mut connection);
    }
}

#[test]
fn frames_that_lead_nowhere_end_the_connection() {
    let floods = [
        frame(kind::PING, 0, 0, &[0; 8]),
        frame(kind::SETTINGS, 0, 0, &[]),
        frame(kind::PRIORITY, 0, 7, &[0; 5]),
        window(1, 1),
        data(1, false, b""),
        data(1, false, b"x"),
        frame(250, 0, 0, &[]),
    ];
    for flood in floods {
        let mut connection = greeted();
        feed(&mut connection, &post(1, &[])).expect("a request");
        assert!(patience_with(&mut connection, 20_000, |_| flood.clone()).is_some(), "{flood:?}");
    }
}

#[test]
fn a_long_download_with_small_window_updates_is_fine() {
    let mut connection = greeted();
    feed(&mut connection, &get(1)).expect("a request");
    connection.respond(1, 200, [], false);
    for _ in 0..20_000 {
        connection.send(1, bytes::Bytes::from(vec![0; 1000]), false);
        take(&mut connection);
        feed(&mut connection, &[window(0, 1000), window(1, 1000)].concat()).expect("it is served");
    }
}

#[test]
fn a_header_block_without_end_ends_the_connection() {
    for fragment in [&[][..], &[0; 16_384]] {
        let mut connection = greeted();
        feed(&mut connection, &frame(kind::HEADERS, 0, 1, &[])).expect("a beginning");
        let more = frame(kind::CONTINUATION, 0, 1, fragment);
        assert!(patience_with(&mut connection, 200, |_| more.clone()).is_some());
    }
}

#[test]
fn more_streams_than_allowed_are_refused() {
    let mut connection = greeted();
    for stream in 0..128 {
        feed(&mut connection, &get(stream * 2 + 1)).expect("a request");
    }
    assert_eq!(feed(&mut connection, &get(257)), Ok(vec![]));
    assert_eq!(resets(&take(&mut connection)), [(257, ErrorCode::RefusedStream as u8)]);
    assert_eq!(connection.streams(), 128);
}

#[test]
fn a_small_block_that_stands_for_much_ends_the_connection() {
    let large = "y".repeat(120);
    let mut bomb = vec![0x40, 1, b'x', 120];
    bomb.extend_from_slice(large.as_bytes());
    bomb.extend(std::iter::repeat_n(0xbe, 1000));
    let input = frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 1, &bomb);
    assert_eq!(feed(&mut greeted(), &input), Err(ErrorCode::EnhanceYourCalm));
}
