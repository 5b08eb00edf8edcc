//! Tests of `gunzip`.

use myriad_encode::{Coding, CompressionLevel, compress};
use myriad_net::ResponseBody;

use super::support::{OutputTestSite, text};
use myriad_exchange::exchange::ContentResponse;

/// Returns a gzip-compressed response.
fn packed() -> ContentResponse {
    let mut answer = text("text/html", "");
    answer.body =
        ResponseBody::Full(compress(Coding::Gzip, CompressionLevel::Fast, b"a page").unwrap().into());
    answer.field(b"Content-Encoding", b"gzip");
    answer.field(b"ETag", b"\"a\"");
    answer
}

const SERVER: &str = "gunzip on; gzip_vary on; location / { return 200 x; }";

#[test]
fn client_that_takes_gzip_gets_it() {
    let answer = OutputTestSite::of(SERVER).answered("GET /", &[("Accept-Encoding", "gzip")], packed());
    assert!(answer.head.contains("Content-Encoding: gzip\r\n") && answer.head.contains("ETag: \"a\"\r\n"));
    assert!(answer.head.contains("Vary: Accept-Encoding\r\n"), "{}", answer.head);
}

#[test]
fn others_get_it_unpacked_with_a_weak_tag() {
    let answer = OutputTestSite::of(SERVER).answered("GET /", &[], packed());
    assert_eq!(answer.body, b"a page");
    assert!(!answer.head.contains("Content-Encoding") && !answer.head.contains("Content-Length"));
    assert!(answer.head.contains("ETag: W/\"a\"\r\n"), "{}", answer.head);
    assert!(answer.head.contains("Vary: Accept-Encoding\r\n"), "{}", answer.head);
}

#[test]
fn own_coding_is_unpacked_as_that_of_the_origin_is() {
    let mut stored = packed();
    stored.without(&[b"content-encoding"]);
    stored.coding = Coding::Gzip;
    assert_eq!(OutputTestSite::of(SERVER).answered("GET /", &[], stored).body, b"a page");
}

#[test]
fn parts_and_other_codings_stay_as_they_are() {
    let mut part = packed();
    part.status = 206;
    assert!(
        OutputTestSite::of(SERVER).answered("GET /", &[], part).head.contains("Content-Encoding: gzip\r\n")
    );
    let mut other = packed();
    other.without(&[b"content-encoding"]);
    other.field(b"Content-Encoding", b"br");
    assert!(
        OutputTestSite::of(SERVER).answered("GET /", &[], other).head.contains("Content-Encoding: br\r\n")
    );
}
