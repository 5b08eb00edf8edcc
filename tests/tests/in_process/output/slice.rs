//! Tests of `slice`, and of `$slice_range`.

use bytes::Bytes;
use myriad_net::ResponseBody;

use super::support::{OutputTestSite, ReceivedResponse, sent};
use myriad_exchange::exchange::{ContentResponse, Slice};
use myriad_serve::testing::variables::{VariableCase, assert_unset, assert_variables, variable_value};

const SERVER: &str = "location / { slice 4; return 200 x; }";

/// Returns a response with a slice of a representation of ten bytes.
fn piece(start: usize) -> ContentResponse {
    let end = (start + 4).min(10);
    let mut answer =
        ContentResponse::new(206, ResponseBody::Full(Bytes::copy_from_slice(&b"0123456789"[start..end])));
    answer.field(b"Content-Range", format!("bytes {start}-{}/10", end - 1).as_bytes());
    answer.field(b"ETag", b"\"a\"");
    answer
}

/// Returns the client's response to a request that needs only the first slice.
fn got(request: &str, fields: &[(&str, &str)], first: impl Fn(usize) -> ContentResponse) -> ReceivedResponse {
    let (mut exchange, _) = OutputTestSite::of(SERVER).asked(request, fields);
    // The state is that before any response, when a cache key reads `$slice_range`.
    exchange.request.outcome.head.status = 0;
    variable_value(&mut exchange, "slice_range");
    let slice = exchange.request.cache.slice.get().expect("a slice");
    sent(exchange, first(slice.start as usize))
}

#[test]
fn range_within_one_piece_is_cut_out_of_it() {
    let answer = got("GET /", &[("Range", "bytes=5-6")], piece);
    assert_eq!((answer.status, &answer.body[..]), (206, &b"56"[..]));
    assert!(answer.head.contains("Content-Range: bytes 5-6/10\r\n"), "{}", answer.head);
    assert!(answer.head.contains("Content-Length: 2\r\n"), "{}", answer.head);
    assert_eq!(answer.head.matches("Content-Range").count(), 1, "{}", answer.head);
}

#[test]
fn head_describes_whole_body() {
    let answer = got("HEAD /", &[], piece);
    assert_eq!(answer.status, 200);
    assert!(
        answer.head.contains("Content-Length: 10\r\n") && answer.head.contains("Accept-Ranges: bytes\r\n")
    );
    assert!(!answer.head.contains("Content-Range"), "{}", answer.head);
}

#[test]
fn first_piece_is_assembled_where_a_redirect_has_led_to_a_place_that_does_not_slice() {
    let server = "location / { slice 4; return 200 x; } location /plain { return 200 x; }";
    let (exchange, _) = OutputTestSite::of(server).asked("HEAD /plain", &[]);
    exchange.request.cache.slice.set(Some(Slice { start: 0, size: 4 }));
    let answer = sent(exchange, piece(0));
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("Content-Length: 10\r\n"), "{}", answer.head);
}

#[test]
fn range_beyond_the_whole_is_refused() {
    let answer = got("GET /", &[("Range", "bytes=10-")], |_| {
        let mut last = piece(8);
        last.without(&[b"content-range"]);
        last.field(b"Content-Range", b"bytes 8-9/10");
        last
    });
    assert_eq!(answer.status, 416);
    assert!(answer.head.contains("Content-Range: bytes */10\r\n"), "{}", answer.head);
}

#[test]
fn conditions_are_judged_against_the_whole() {
    assert_eq!(got("GET /", &[("If-None-Match", "\"a\"")], piece).status, 304);
    let refused = got("GET /", &[("If-Match", "\"b\"")], piece);
    assert_eq!(refused.status, 412);
    assert!(refused.body.starts_with(b"<html>"));
}

#[test]
fn another_piece_than_was_asked_for_ends_the_connection() {
    assert!(got("GET /", &[], |_| piece(4)).response.drop_connection);
}

#[test]
fn answer_that_is_no_piece_stays_as_it_is() {
    let answer = got("GET /", &[], |_| super::support::text("text/html", "whole"));
    assert_eq!((answer.status, &answer.body[..]), (200, &b"whole"[..]));
}

#[test]
fn a_piece_is_named_where_a_place_slices() {
    assert_unset(&mut VariableCase::default().begin(), &["slice_range"]);
    let mut exchange =
        VariableCase { server: "slice 10;", fields: &[("Range", "bytes=25-")], ..VariableCase::default() }
            .begin();
    assert_variables(&mut exchange, &[("slice_range", "bytes=20-29")]);
}
