//! Functions that the filters share: tests of a response, and wrapping of its body.

use myriad_encode::Coding;
use myriad_net::ResponseBody;

use crate::transform::{Transform, transformed};
use myriad_exchange::exchange::{ContentResponse, pull_body};

/// Returns whether the response has no body by its status (RFC 9110 section 6.4.1), or is a tunnel, which is not
/// filtered.
pub(crate) fn is_bodiless(answer: &ContentResponse) -> bool {
    matches!(answer.status, 204 | 304)
        || answer.status < 200
        || matches!(answer.body, ResponseBody::Tunnel(_))
}

/// Returns whether the body has a content coding, of this server or of the origin, so that texts cannot be found in it.
pub(super) fn is_packed(answer: &ContentResponse) -> bool {
    answer.coding != Coding::Identity || answer.has(b"content-encoding")
}

/// Prepares the head of a response whose text will be changed: detaches it from its source and removes its validators.
/// With `keeps_dates` (`*_last_modified`), `Last-Modified` stays, and `ETag` becomes weak.
pub(super) fn begin_text(answer: &mut ContentResponse, etags: bool, keeps_dates: bool) {
    answer.detach(etags);
    if keeps_dates {
        answer.weaken_tag();
    } else {
        answer.without(&[b"last-modified", b"etag"]);
    }
}

/// Wraps the body of a response in a transformation, and updates its length and ranges; the caller updates the rest of
/// the head.
pub(super) fn wrap(answer: &mut ContentResponse, transform: impl Transform + 'static) {
    let body = std::mem::replace(&mut answer.body, ResponseBody::None);
    answer.body = ResponseBody::Stream(transformed(pull_body(body), transform), None);
    answer.length = None;
    answer.ranges = false;
    answer.compressible = !is_packed(answer);
    answer.without(&[b"accept-ranges"]);
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    /// Returns a response of four bytes with `Last-Modified`, `ETag` and ranges.
    fn answer() -> ContentResponse {
        let mut answer = ContentResponse::new(200, ResponseBody::Full(Bytes::from_static(b"text")));
        answer.field(b"Last-Modified", b"Mon, 23 Nov 2026 00:00:00 GMT");
        answer.field(b"ETag", b"\"a\"");
        answer.field(b"Accept-Ranges", b"bytes");
        answer.ranges = true;
        answer
    }

    fn lines(answer: &ContentResponse) -> &str {
        std::str::from_utf8(&answer.lines).unwrap()
    }

    #[test]
    fn bodiless_responses_are_recognized_by_status() {
        for (status, bodiless) in
            [(101, true), (200, false), (204, true), (206, false), (304, true), (404, false)]
        {
            assert_eq!(is_bodiless(&ContentResponse::new(status, ResponseBody::None)), bodiless, "{status}");
        }
    }

    #[test]
    fn coding_of_the_origin_packs_as_that_of_this_server_does() {
        let mut answer = answer();
        assert!(!is_packed(&answer));
        answer.coding = Coding::Gzip;
        assert!(is_packed(&answer));
        answer.coding = Coding::Identity;
        answer.field(b"Content-Encoding", b"deflate");
        assert!(is_packed(&answer));
    }

    #[test]
    fn validators_go_where_a_text_is_not_the_same_for_all() {
        let mut dropped = answer();
        begin_text(&mut dropped, true, false);
        assert_eq!(lines(&dropped), "Accept-Ranges: bytes\r\n");
        let mut unchanged = answer();
        begin_text(&mut unchanged, true, true);
        assert!(
            lines(&unchanged).contains("Last-Modified: Mon, ")
                && lines(&unchanged).contains("ETag: W/\"a\"\r\n")
        );
    }

    #[test]
    fn wrapped_body_has_no_length_and_no_ranges() {
        struct IdentityTransform;
        impl Transform for IdentityTransform {
            fn push(
                &mut self,
                input: &mut &[u8],
                out: &mut Vec<u8>,
            ) -> Result<bool, myriad_http::body::BodyError> {
                out.extend_from_slice(std::mem::take(input));
                Ok(true)
            }

            fn finish(&mut self, _: &mut Vec<u8>) -> Result<(), myriad_http::body::BodyError> {
                Ok(())
            }
        }
        let mut answer = answer();
        answer.length = Some(4);
        wrap(&mut answer, IdentityTransform);
        assert!(matches!(answer.body, ResponseBody::Stream(_, None)) && answer.known_length().is_none());
        assert!(!answer.ranges && answer.compressible && !lines(&answer).contains("Accept-Ranges"));
        let mut packed = self::answer();
        packed.coding = Coding::Gzip;
        wrap(&mut packed, IdentityTransform);
        assert!(!packed.compressible, "a compressed response is not compressed again");
    }
}
