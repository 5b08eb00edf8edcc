//! Tests of origins that violate rules.

use super::*;

/// Returns the failure of a request to which the origin responds with `input`.
fn lost_by(input: &[u8]) -> RequestFailure {
    let mut client = greeted();
    ask(&mut client);
    feed(&mut client, input).expect("the connection goes on");
    let all = lost(&mut client);
    assert_eq!(all.len(), 1, "{input:?}");
    assert!(!client.is_open(), "it is not used again");
    assert!(kinds(&take(&mut client)).contains(&(kind::RST_STREAM, 1)));
    assert_eq!(feed(&mut client, &data(1, true, b"late")), Ok(vec![]), "what was under way is no error");
    all[0].1
}

fn error_for(input: &[u8]) -> ErrorCode {
    let mut client = greeted();
    ask(&mut client);
    let code = feed(&mut client, input).expect_err("the connection ends");
    assert!(kinds(&take(&mut client)).contains(&(kind::GOAWAY, 0)));
    code
}

#[test]
fn a_malformed_head_loses_its_request() {
    let heads: [&[(&str, &str)]; 14] = [
        &[],
        &[("x-a", "1")],
        &[(":status", "20")],
        &[(":status", "2x0")],
        &[(":status", "099")],
        &[(":status", "2000")],
        &[(":status", "200"), (":status", "200")],
        &[("x-a", "1"), (":status", "200")],
        &[(":status", "200"), (":path", "/")],
        &[(":status", "200"), ("X-A", "1")],
        &[(":status", "200"), ("", "1")],
        &[(":status", "200"), ("x-a", "1\r\nx-b: 2")],
        &[(":status", "200"), ("transfer-encoding", "chunked")],
        &[(":status", "200"), ("content-length", "1"), ("content-length", "2")],
    ];
    for fields in heads {
        let lost = lost_by(&head(1, false, fields));
        assert!(matches!(lost, RequestFailure::Malformed(_)), "{fields:?} {lost:?}");
    }
}

#[test]
fn a_head_that_is_too_large_loses_its_request_alone() {
    let value = "x".repeat(120);
    let fields: Vec<_> = (0..40).map(|_| ("x-a", value.as_str())).collect();
    let all = [&[(":status", "200")][..], &fields].concat();
    assert_eq!(lost_by(&head(1, true, &all)), RequestFailure::TooLarge);
    let mut client = greeted();
    let (first, second) = (ask(&mut client), ask(&mut client));
    feed(&mut client, &head(first, true, &all)).expect("the connection goes on");
    assert_eq!(
        feed(&mut client, &head(second, true, &[(":status", "204")])),
        Ok(vec!["3 204 true".to_owned()])
    );
}

#[test]
fn bodies_have_the_length_that_was_announced() {
    let of = |length: &str, body: &[u8]| {
        [head(1, false, &[(":status", "200"), ("content-length", length)]), data(1, true, body)].concat()
    };
    assert!(matches!(lost_by(&of("3", b"four")), RequestFailure::Broken(_)));
    assert!(matches!(lost_by(&of("5", b"four")), RequestFailure::Broken(_)));
    assert!(matches!(
        lost_by(&head(1, true, &[(":status", "200"), ("content-length", "1")])),
        RequestFailure::Broken(_)
    ));
    let short = [
        head(1, false, &[(":status", "200"), ("content-length", "1")]),
        head(1, true, &[("x-checksum", "1")]),
    ];
    assert!(matches!(lost_by(&short.concat()), RequestFailure::Broken(_)));
    let mut client = greeted();
    let id = client.open(Method::Head, GET, true, 4096).expect("room");
    let answer = head(id, true, &[(":status", "200"), ("content-length", "100")]);
    assert_eq!(feed(&mut client, &answer), Ok(vec!["1 200 true".to_owned()]), "HEAD has no body");
}

#[test]
fn frames_out_of_place_lose_their_request() {
    let ok = head(1, false, &[(":status", "200")]);
    assert!(matches!(lost_by(&data(1, false, b"x")), RequestFailure::Broken(_)));
    assert!(matches!(lost_by(&[ok.clone(), ok.clone()].concat()), RequestFailure::Broken(_)));
    assert!(matches!(lost_by(&head(1, false, &[(":status", "101")])), RequestFailure::Broken(_)));
    assert!(matches!(lost_by(&head(1, true, &[(":status", "103")])), RequestFailure::Broken(_)));
    let trailer = head(1, true, &[(":status", "200")]);
    assert!(matches!(lost_by(&[ok.clone(), trailer].concat()), RequestFailure::Malformed(_)));
    assert!(matches!(lost_by(&[ok, data(1, false, &[b'x'; 1001])].concat()), RequestFailure::Broken(_)));
    assert!(matches!(lost_by(&frame(kind::WINDOW_UPDATE, 0, 1, &[0; 4])), RequestFailure::Broken(_)));
    let much = frame(kind::WINDOW_UPDATE, 0, 1, &0x7fff_ffff_u32.to_be_bytes());
    assert!(matches!(lost_by(&much), RequestFailure::Broken(_)));
}

#[test]
fn frames_that_no_origin_may_send_end_the_connection() {
    let protocol = [
        frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, &[0, 0, 0, 2]),
        head(2, true, &[(":status", "200")]),
        head(3, true, &[(":status", "200")]),
        data(3, true, b""),
        data(0, true, b""),
        reset(5, ErrorCode::Cancel),
        frame(kind::WINDOW_UPDATE, 0, 4, &[0, 0, 0, 1]),
        frame(kind::WINDOW_UPDATE, 0, 0, &[0; 4]),
        frame(kind::CONTINUATION, 0, 1, b""),
        [frame(kind::HEADERS, 0, 1, b""), data(1, true, b"")].concat(),
        frame(kind::SETTINGS, 0, 0, &[0, 2, 0, 0, 0, 1]),
        frame(kind::SETTINGS, 0, 1, &[]),
        frame(kind::PING, 0, 1, &[0; 8]),
    ];
    for input in protocol {
        assert_eq!(error_for(&input), ErrorCode::Protocol, "{input:?}");
    }
    assert_eq!(error_for(&frame(kind::PING, 0, 0, &[0; 7])), ErrorCode::FrameSize);
    assert_eq!(error_for(&frame(kind::DATA, 0, 1, &vec![0; 16_385])), ErrorCode::FrameSize);
    assert_eq!(error_for(&frame(kind::HEADERS, flag::END_HEADERS, 1, &[0xff, 0xff])), ErrorCode::Compression);
}

#[test]
fn an_origin_of_http_1_is_found_out() {
    let mut client = Http2Client::new(1000);
    ask(&mut client);
    let error = client.receive(b"HTTP/1.1 400 Bad Request\r\n\r\n").expect_err("no HTTP/2");
    assert_eq!(error.reason, "not HTTP/2: the first frame is not SETTINGS");
}

#[test]
fn refused_streams_are_distinguished_from_reset_ones() {
    let mut client = greeted();
    let ids: Vec<_> = (0..4).map(|_| ask(&mut client)).collect();
    let input = [reset(ids[0], ErrorCode::RefusedStream), reset(ids[1], ErrorCode::Cancel), goaway(ids[2])];
    feed(&mut client, &input.concat()).expect("the connection goes on");
    assert_eq!(
        lost(&mut client),
        [(1, RequestFailure::Refused), (3, RequestFailure::Reset(8)), (7, RequestFailure::Refused)]
    );
    assert!(!client.has_room());
    assert_eq!(feed(&mut client, &head(5, true, &[(":status", "204")])), Ok(vec!["5 204 true".to_owned()]));
    let mut client = greeted();
    let id = ask(&mut client);
    let begun = [head(id, false, &[(":status", "200")]), reset(id, ErrorCode::RefusedStream)].concat();
    feed(&mut client, &begun).expect("the connection goes on");
    assert_eq!(
        lost(&mut client),
        [(1, RequestFailure::Reset(7))],
        "a request that was answered was not refused"
    );
}

#[test]
fn reset_after_complete_response_only_stops_upload() {
    let mut client = greeted();
    let id = post(&mut client);
    let input = [head(id, true, &[(":status", "200")]), reset(id, ErrorCode::NoError)].concat();
    assert_eq!(feed(&mut client, &input), Ok(vec!["1 200 true".to_owned()]));
    assert_eq!((lost(&mut client), client.streams()), (vec![], 0));
    assert!(client.is_open());
}

#[test]
fn a_cancelled_request_is_reset_and_its_frames_are_dropped() {
    let mut client = greeted();
    let id = ask(&mut client);
    take(&mut client);
    client.cancel(id);
    assert_eq!(kinds(&take(&mut client)), [(kind::RST_STREAM, 1)]);
    let late =
        [head(id, false, &[(":status", "200")]), data(id, true, b"late"), reset(id, ErrorCode::Cancel)];
    assert_eq!(feed(&mut client, &late.concat()), Ok(vec![]));
    assert!(client.is_open() && lost(&mut client).is_empty());
}
