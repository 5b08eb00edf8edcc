//! Tests of floods of frames by origins.

use super::*;

/// Passes `input` to a client repeatedly, whose output is always sent. Returns the number of repetitions before the one
/// that fails; `None` if none of `most` fails.
fn patience_with(
    client: &mut Http2Client,
    most: u32,
    mut input: impl FnMut(&mut Http2Client) -> Vec<u8>,
) -> Option<u32> {
    (0..most).find(|_| {
        let input = input(client);
        let result = feed(client, &input);
        take(client);
        lost(client);
        if let Err(code) = result {
            assert_eq!(code, ErrorCode::EnhanceYourCalm);
        }
        result.is_err()
    })
}

#[test]
fn resets_of_requests_leave_the_others_alone() {
    let mut client = greeted();
    let other = ask(&mut client);
    let resets = |client: &mut Http2Client| {
        let id = ask(client);
        reset(id, ErrorCode::RefusedStream)
    };
    assert_eq!(patience_with(&mut client, 1000, resets), None);
    feed(&mut client, &head(other, true, &[(":status", "204")])).expect("an answer");
    assert!(client.is_open());
}

#[test]
fn what_was_under_way_on_cancelled_streams_leaves_the_others_alone() {
    let mut client = Http2Client::new(128 * 1024);
    take(&mut client);
    feed(&mut client, &frame(kind::SETTINGS, 0, 0, &[])).expect("settings");
    for _ in 0..1000 {
        let id = ask(&mut client);
        feed(&mut client, &head(id, false, &[(":status", "200")])).expect("a head");
        client.cancel(id);
        take(&mut client);
        for _ in 0..32 {
            feed(&mut client, &data(id, false, &[0; 4096])).expect("it had been sent by then");
        }
    }
    assert!(client.is_open());
}

#[test]
fn resets_among_answers_are_fine() {
    let mut client = greeted();
    for _ in 0..2000 {
        let (first, second) = (ask(&mut client), ask(&mut client));
        let input = [reset(first, ErrorCode::Cancel), head(second, true, &[(":status", "204")])].concat();
        feed(&mut client, &input).expect("it is of use");
        assert_eq!(lost(&mut client).len(), 1);
        take(&mut client);
    }
}

#[test]
fn frames_that_lead_nowhere_end_the_connection() {
    let floods = [
        frame(kind::PING, 0, 0, &[0; 8]),
        frame(kind::SETTINGS, 0, 0, &[]),
        frame(kind::PRIORITY, 0, 1, &[0; 5]),
        frame(kind::WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1]),
        goaway(1),
        data(1, false, b""),
        frame(250, 0, 0, &[]),
    ];
    for flood in floods {
        let mut client = greeted();
        post(&mut client);
        feed(&mut client, &head(1, false, &[(":status", "200")])).expect("a head");
        assert!(patience_with(&mut client, 20_000, |_| flood.clone()).is_some(), "{flood:?}");
    }
}

#[test]
fn flood_of_responses_to_cancelled_stream_closes_connection() {
    for flood in [head(1, false, &[(":status", "200")]), data(1, false, &[0; 300])] {
        let mut client = greeted();
        let id = ask(&mut client);
        client.cancel(id);
        assert!(patience_with(&mut client, 20_000, |_| flood.clone()).is_some());
    }
}

#[test]
fn control_frame_flood_without_reading_closes_connection() {
    let mut client = greeted();
    ask(&mut client);
    feed(&mut client, &head(1, false, &[(":status", "200")])).expect("a head");
    let rejected = (0..200_000).any(|_| {
        let input = [frame(kind::PING, 0, 0, &[0; 8]), data(1, false, b"message")].concat();
        let result = feed(&mut client, &input);
        client.release(1, 7);
        result.is_err()
    });
    assert!(rejected, "the backlog is bounded");
}

#[test]
fn a_long_stream_of_short_messages_is_fine() {
    let mut client = greeted();
    let id = post(&mut client);
    feed(&mut client, &head(id, false, &[(":status", "200")])).expect("a head");
    for _ in 0..30_000 {
        client.send(id, bytes::Bytes::from_static(b"\0\0\0\0\0"), false);
        take(&mut client);
        let more = frame(kind::WINDOW_UPDATE, 0, id, &5_u32.to_be_bytes());
        let input = [data(id, false, b"\0\0\0\0\0"), more, frame(kind::PING, 0, 0, &[0; 8])].concat();
        feed(&mut client, &input).expect("it is of use");
        client.release(id, 5);
    }
}

#[test]
fn interim_answers_have_an_end() {
    let mut client = greeted();
    let id = ask(&mut client);
    for _ in 0..MAX_INTERIM {
        feed(&mut client, &head(id, false, &[(":status", "103")])).expect("one of a few");
    }
    assert!(lost(&mut client).is_empty());
    feed(&mut client, &head(id, false, &[(":status", "103")])).expect("the connection goes on");
    assert_eq!(lost(&mut client), [(id, RequestFailure::Broken("too many interim responses"))]);
}

#[test]
fn a_header_block_without_end_ends_the_connection() {
    for fragment in [&[][..], &[0; 16_384]] {
        let mut client = greeted();
        ask(&mut client);
        feed(&mut client, &frame(kind::HEADERS, 0, 1, &[])).expect("a beginning");
        let more = frame(kind::CONTINUATION, 0, 1, fragment);
        assert!(patience_with(&mut client, 200, |_| more.clone()).is_some());
    }
}

#[test]
fn a_small_block_that_stands_for_much_loses_its_request_or_the_connection() {
    let mut client = greeted();
    ask(&mut client);
    feed(&mut client, &bomb(1000)).expect("the connection goes on");
    assert_eq!(lost(&mut client), [(1, RequestFailure::TooLarge)]);
    let mut client = greeted();
    ask(&mut client);
    assert_eq!(feed(&mut client, &bomb(10_000)), Err(ErrorCode::EnhanceYourCalm));
}

/// Encodes a head in which a long field is repeated `times` times, with one byte each.
fn bomb(times: usize) -> Vec<u8> {
    let mut bomb = block(&[(":status", "200")]);
    bomb.extend_from_slice(&[0x40, 1, b'x', 120]);
    bomb.extend_from_slice(&[b'y'; 120]);
    bomb.extend(std::iter::repeat_n(0xbe, times));
    frame(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 1, &bomb)
}
