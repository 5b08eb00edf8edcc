//! Chunk boundaries: every form of terminator, extension or length that implementations have interpreted differently.

use super::{HIDDEN, Site, exchange};

/// Bodies that begin with a chunk, with the name under which their form was published.
const FORMS: &[(&str, &str)] = &[
    ("TERM.EXT", "5;\nAAAAA\r\n0\r\n\r\n"),
    ("TERM.EXT, named", "5;a\nAAAAA\r\n0\r\n\r\n"),
    ("TERM.EXT, bare CR", "5;a\rAAAAA\r\n0\r\n\r\n"),
    ("EXT.TERM", "5;\rb\r\nAAAAA\r\n0\r\n\r\n"),
    ("EXT.TERM, LF", "5;a\nb\r\nAAAAA\r\n0\r\n\r\n"),
    ("EXT.TERM, CR CR LF", "5;a\r\r\nAAAAA\r\n0\r\n\r\n"),
    ("TERM.SPILL", "5\r\nAAAAA\n0\r\n\r\n"),
    ("TERM.SPILL, CR", "5\r\nAAAAA\r0\r\n\r\n"),
    ("SPILL.TERM", "5\r\nAAAAAXX\r\n0\r\n\r\n"),
    ("SPILL.TERM, two bytes", "5\r\nAAAAAXX0\r\n\r\n"),
    ("ONE.TWO", "5\r\nAAAAA\n\n0\r\n\r\n"),
    ("TWO.ONE", "5\r\nAAAAA\r\r0\r\n\r\n"),
    ("ZERO.TWO", "5\r\nAAAAA0\r\n\r\n"),
    ("TWO.ZERO", "5\r\nAAAAA\r\n\r\n0\r\n\r\n"),
    ("size, LF", "5\nAAAAA\r\n0\r\n\r\n"),
    ("size, CR", "5\rAAAAA\r\n0\r\n\r\n"),
    ("size, CR CR LF", "5\r\r\nAAAAA\r\n0\r\n\r\n"),
    ("size, blank", "5 \r\nAAAAA\r\n0\r\n\r\n"),
    ("size, blank in front", " 5\r\nAAAAA\r\n0\r\n\r\n"),
    ("size, vertical tab", "5\x0b\r\nAAAAA\r\n0\r\n\r\n"),
    ("size of C", "0x5\r\nAAAAA\r\n0\r\n\r\n"),
    ("size with a sign", "+5\r\nAAAAA\r\n0\r\n\r\n"),
    ("size with an underscore", "0_5\r\nAAAAA\r\n0\r\n\r\n"),
    ("size of other digits", "\u{ff15}\r\nAAAAA\r\n0\r\n\r\n"),
    ("size beyond 64 bits", "10000000000000005\r\nAAAAA\r\n0\r\n\r\n"),
    ("size beyond 63 bits", "8000000000000005\r\nAAAAA\r\n0\r\n\r\n"),
    ("sizes with a comma", "5,5\r\nAAAAA\r\n0\r\n\r\n"),
    ("sizes, two", "5 5\r\nAAAAA\r\n0\r\n\r\n"),
    ("size, none", "\r\nAAAAA\r\n0\r\n\r\n"),
    ("extension, quoted line end", "5;a=\"\r\nAAAAA\r\n0\r\n\r\n"),
    ("extension, quoted LF", "5;a=\"\n\"\r\nAAAAA\r\n0\r\n\r\n"),
    ("extension, NUL", "5;a\0\r\nAAAAA\r\n0\r\n\r\n"),
    ("extension, no name", "5;=b\r\nAAAAA\r\n0\r\n\r\n"),
    ("extension, no semicolon", "5 a\r\nAAAAA\r\n0\r\n\r\n"),
    ("last chunk, LF", "5\r\nAAAAA\r\n0\n\r\n"),
    ("last chunk, LF LF", "5\r\nAAAAA\r\n0\n\n"),
    ("end, LF", "5\r\nAAAAA\r\n0\r\n\n"),
    ("end, CR", "5\r\nAAAAA\r\n0\r\n\rX"),
    ("trailer, LF", "5\r\nAAAAA\r\n0\r\nX: a\n\r\n"),
    ("trailer, bare CR", "5\r\nAAAAA\r\n0\r\nX: a\rY: b\r\n\r\n"),
    ("trailer, folded", "5\r\nAAAAA\r\n0\r\nX: a\r\n b\r\n\r\n"),
    ("trailer, no colon", "5\r\nAAAAA\r\n0\r\nGET /hidden HTTP/1.1\r\n\r\n"),
];

#[test]
fn chunks_of_every_published_form_are_refused_and_hide_no_request() {
    let site = Site::start("");
    for (form, body) in FORMS {
        let head = "POST /upload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
        let bytes = format!("{head}{body}{HIDDEN}x\r\n\r\n");
        let (answer, is_over) = exchange(&site.server, bytes.as_bytes());
        let status = answer.map(|answer| answer.status);
        assert_eq!(status, Some(400), "{form}: {body:?}");
        assert!(is_over, "{form} left the connection open");
    }
    let heads = site.origin.heads();
    assert!(heads.is_empty(), "{heads:?}");
    site.is_unharmed("forms of chunks");
}

#[test]
fn valid_chunks_are_decoded_and_framed_from_scratch() {
    let site = Site::start("");
    for body in [
        "5\r\nAAAAA\r\n0\r\n\r\n",
        "5;a\r\nAAAAA\r\n0;b=c\r\n\r\n",
        "5;a=\"b;\\\"\" ; c\r\nAAAAA\r\n0\r\nContent-Length: 50\r\nTransfer-Encoding: chunked\r\nHost: other\r\n\r\n",
        "0000000000000000000000005\r\nAAAAA\r\n000\r\n\r\n",
    ] {
        let head = "POST /upload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
        let (answer, is_over) = exchange(&site.server, format!("{head}{body}").as_bytes());
        assert_eq!(answer.map(|answer| answer.text()).as_deref(), Some("POST /upload [5]"), "{body:?}");
        assert!(!is_over, "{body:?}");
    }
    for head in site.origin.heads().iter().filter(|head| head.starts_with("POST")) {
        assert!(
            !head.contains("other") && !head.contains("50"),
            "trailers were forwarded as header fields: {head}"
        );
    }
    site.is_unharmed("good chunks");
}
