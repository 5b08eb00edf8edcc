//! Tests of request bodies.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use myriad_net::RequestBody;
use myriad_net::multiplex::BodyFeed;
use myriad_upstream::RequestPayload;

use super::support::OriginTrial;
use myriad_origin::upload::{gather, payload};
use myriad_serve::testing::block_on;

const PASS: &str = "proxy_pass http://127.0.0.1:1;";

/// Returns a request whose body consists of these pieces and is complete.
fn trial(rules: &str, pieces: &[&[u8]]) -> OriginTrial {
    let mut trial = OriginTrial::of(&format!("location / {{ {PASS} {rules} }}"), "POST /", &[]);
    let feed = BodyFeed::new(None, false);
    for piece in pieces {
        feed.push(piece);
    }
    feed.end();
    trial.0.request.upload.body = RequestBody::from_feed(&feed);
    trial
}

fn sent(rules: &str, pieces: &[&[u8]]) -> Result<RequestPayload, u16> {
    let mut trial = trial(rules, pieces);
    let origin = trial.origin();
    block_on(payload(&mut trial.0, &origin))
}

#[test]
fn body_is_gathered_whole_and_its_length_is_known_then() {
    let mut trial = trial("", &[b"one", b"", b"two"]);
    block_on(gather(&mut trial.0)).expect("a body");
    let upload = &trial.0.request.upload;
    assert_eq!(upload.length, Some(6));
    assert_eq!(upload.buffered.as_ref().and_then(|gathered| gathered.in_memory()), Some(&b"onetwo"[..]));
}

#[test]
fn body_that_is_not_passed_on_is_read_and_not_sent() {
    assert!(matches!(sent("", &[b"one"]), Ok(RequestPayload::Bytes(body)) if body == "one"));
    assert!(matches!(sent("proxy_pass_request_body off;", &[b"one"]), Ok(RequestPayload::Empty)));
}

#[test]
fn body_beyond_memory_goes_into_a_file_and_can_be_sent_again() {
    let folder = myriad_serve::testing::TestFolder::new("origin-upload");
    let rules = format!("client_body_buffer_size 4; client_body_temp_path {};", folder.0.display());
    assert!(matches!(sent(&rules, &[b"four"]), Ok(RequestPayload::Bytes(_))));
    assert!(matches!(sent(&rules, &[b"one", b"two"]), Ok(RequestPayload::Again(_, 6))));
}

#[test]
fn body_that_is_there_at_once_can_be_sent_again_even_unbuffered() {
    let rules = "proxy_request_buffering off;";
    assert!(matches!(sent(rules, &[b"one", b"two"]), Ok(RequestPayload::Bytes(body)) if body == "onetwo"));
}

#[test]
fn body_that_still_comes_is_sent_as_it_comes_where_that_is_wanted() {
    let mut trial = trial("proxy_request_buffering off;", &[]);
    let feed = BodyFeed::new(Some(6), false);
    feed.push(b"one");
    trial.0.request.upload.body = RequestBody::from_feed(&feed);
    let origin = trial.origin();
    let payload = {
        let mut reading = pin!(payload(&mut trial.0, &origin));
        block_on(poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx))))
    };
    assert!(
        matches!(&payload, Poll::Ready(Ok(RequestPayload::Stream(_, Some(6))))),
        "the body is passed on without buffering"
    );
    assert!(trial.0.request.upload.buffered.is_none());
}
