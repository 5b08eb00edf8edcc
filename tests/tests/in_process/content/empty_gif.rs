//! Tests of `empty_gif`.

use myriad_http::HttpVersion;
use myriad_serve::testing::{TestSite, immediate_answer, send_request};

#[test]
fn gif_is_sent_for_get_and_head_only() {
    let site = TestSite::new("", "location = /pixel { empty_gif; }");
    for method in ["GET", "HEAD"] {
        let mut exchange = site.received_request(HttpVersion::Http11, (method, "/pixel"), &[]);
        let answer = immediate_answer(&mut exchange).expect("an answer");
        assert_eq!((answer.status, answer.media_type.as_deref()), (200, Some(&b"image/gif"[..])));
        assert_eq!(answer.known_length(), Some(43));
        // 1970-09-28 06:00 UTC.
        assert_eq!(answer.modified_s(0), Some(23_349_600));
    }
    for method in ["POST", "PUT", "DELETE"] {
        assert_eq!(send_request(&site, &format!("{method} /pixel"), &[]).status, 405, "{method}");
    }
}
