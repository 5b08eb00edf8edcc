//! Tests of ranges.

use super::support::{OutputTestSite, text};
use myriad_exchange::exchange::ContentResponse;

/// Returns a response of ten bytes that supports ranges.
fn ten() -> ContentResponse {
    let mut answer = text("text/plain", "0123456789");
    answer.ranges = true;
    answer.field(b"Last-Modified", b"Tue, 01 Nov 1994 12:00:00 GMT");
    answer
}

const SERVER: &str = "location / { return 200 x; }";

#[test]
fn part_is_cut_out() {
    let answer = OutputTestSite::of(SERVER).answered("GET /", &[("Range", "bytes=2-4")], ten());
    assert_eq!((answer.status, &answer.body[..]), (206, &b"234"[..]));
    assert!(answer.head.contains("Content-Range: bytes 2-4/10\r\n"), "{}", answer.head);
    assert!(answer.head.contains("Content-Length: 3\r\n"), "{}", answer.head);
    assert!(!answer.head.contains("Accept-Ranges"), "{}", answer.head);
}

#[test]
fn several_ranges_are_sent_as_multipart() {
    let answer = OutputTestSite::of(SERVER).answered("GET /", &[("Range", "bytes=0-0,-1")], ten());
    assert_eq!(answer.status, 206);
    assert!(answer.head.contains("Content-Type: multipart/byteranges; boundary="), "{}", answer.head);
    let body = String::from_utf8(answer.body).unwrap();
    assert!(
        body.contains("Content-Type: text/plain\r\nContent-Range: bytes 0-0/10\r\n\r\n0\r\n--"),
        "{body}"
    );
    assert!(
        body.contains("Content-Range: bytes 9-9/10\r\n\r\n9\r\n--") && body.ends_with("--\r\n"),
        "{body}"
    );
}

#[test]
fn range_beyond_the_end_is_refused_with_the_length() {
    let answer = OutputTestSite::of(SERVER).answered("GET /", &[("Range", "bytes=10-")], ten());
    assert_eq!(answer.status, 416);
    assert!(answer.head.contains("Content-Range: bytes */10\r\n"), "{}", answer.head);
    assert!(answer.body.starts_with(b"<html>"));
}

#[test]
fn whole_is_sent_where_no_parts_may_be_asked_for() {
    let trial =
        OutputTestSite::of("location / { return 200 x; } location /n { max_ranges 0; return 200 x; }");
    let mut whole = ten();
    whole.ranges = false;
    for answer in [
        trial.answered("GET /", &[("Range", "bytes=2-4")], whole),
        trial.answered("GET /n", &[("Range", "bytes=2-4")], ten()),
        trial.answered("POST /", &[("Range", "bytes=2-4")], ten()),
        trial.answered("GET /", &[("Range", "items=2-4")], ten()),
    ] {
        assert_eq!((answer.status, answer.body.len()), (200, 10), "{}", answer.head);
    }
    assert!(!trial.answered("GET /n", &[], ten()).head.contains("Accept-Ranges"));
    assert!(trial.answered("GET /", &[], ten()).head.contains("Accept-Ranges: bytes\r\n"));
}

#[test]
fn part_is_of_what_the_client_has() {
    let trial = OutputTestSite::of(SERVER);
    let range = |date| [("Range", "bytes=2-4"), ("If-Range", date)];
    assert_eq!(trial.answered("GET /", &range("Tue, 01 Nov 1994 12:00:00 GMT"), ten()).status, 206);
    assert_eq!(trial.answered("GET /", &range("Tue, 01 Nov 1994 12:00:01 GMT"), ten()).status, 200);
}

#[test]
fn date_that_add_header_has_put_there_is_what_the_client_has() {
    let trial = OutputTestSite::of(
        r#"location / { add_header Last-Modified "Wed, 02 Nov 1994 12:00:00 GMT"; return 200 x; }"#,
    );
    let range = |date| [("Range", "bytes=2-4"), ("If-Range", date)];
    assert_eq!(trial.answered("GET /", &range("Wed, 02 Nov 1994 12:00:00 GMT"), ten()).status, 206);
    assert_eq!(trial.answered("GET /", &range("Tue, 01 Nov 1994 12:00:00 GMT"), ten()).status, 200);
}
