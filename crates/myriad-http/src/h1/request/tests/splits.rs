//! Tests that the result of parsing does not depend on how the input is split.

use super::*;

const SAMPLES: &[&[u8]] = &[
    b"GET /a/b?c=d HTTP/1.1\r\nHost: www.example.com\r\nAccept-Encoding: gzip\r\nCookie: a=b\r\n\r\n",
    b"\r\n\nPOST http://a.example/ HTTP/1.1\nHost: a\nContent-Length: 5\n\nhello",
    b"OPTIONS * HTTP/1.0 \r\n\r\n",
    b"GET  /  HTTP/1.12\r\nHost: a\r\nX_Y: dropped\r\nX:\r\n\r\nGET / HTTP/1.1\r\n",
];

/// Parses `text` in pieces that end at the positions `ends`. Returns the last result, and the head.
fn feed(
    text: &[u8],
    ends: impl Iterator<Item = usize>,
    limits: &HeadLimits,
) -> (Result<ParseStatus, ParseError>, RequestHead) {
    let mut head =
        RequestHead::from_parts(b"STALE", b"/stale", HttpVersion::Http2, [(&b"Host"[..], &b"stale"[..])]);
    let mut progress = HeadScanState::default();
    let mut result = Ok(ParseStatus::Partial);
    for end in ends {
        result = resume_request(&text[..end], &mut progress, limits, &mut head);
        if result != Ok(ParseStatus::Partial) {
            break;
        }
    }
    (result, head)
}

fn assert_same(text: &[u8], ends: impl Iterator<Item = usize>, limits: &HeadLimits) {
    let (whole, whole_head) = parse_with(text, limits);
    let (pieces, pieces_head) = feed(text, ends, limits);
    let shown = text.escape_ascii().to_string();
    match whole {
        Ok(ParseStatus::Complete(_)) => {
            assert_eq!(pieces, whole, "{shown}");
            assert_eq!(pieces_head.raw(), whole_head.raw(), "{shown}");
            assert_eq!(pieces_head.target(), whole_head.target(), "{shown}");
            assert_eq!(pieces_head.request_line(), whole_head.request_line(), "{shown}");
            assert_eq!(pieces_head.version(), whole_head.version(), "{shown}");
            let (a, b): (Vec<_>, Vec<_>) =
                (pieces_head.fields().iter().collect(), whole_head.fields().iter().collect());
            assert_eq!(a, b, "{shown}");
            for &known in Known::all() {
                assert_eq!(pieces_head.known(known), whole_head.known(known), "{shown}");
            }
        }
        Ok(ParseStatus::Partial) => assert_eq!(pieces, whole, "{shown}"),
        // Errors in an incomplete line are reported once the line is complete.
        Err(_) if !text.ends_with(b"\n") => {
            assert!(!matches!(pieces, Ok(ParseStatus::Complete(_))), "{shown}");
        }
        Err(_) => assert!(pieces.is_err(), "{shown}: {pieces:?}"),
    }
}

#[test]
fn every_sample_split_anywhere_is_read_alike() {
    let limits = HeadLimits::default();
    for text in SAMPLES {
        for at in 0..text.len() {
            assert_same(text, [at, text.len()].into_iter(), &limits);
            for second in at..text.len() {
                assert_same(text, [at, second, text.len()].into_iter(), &limits);
            }
        }
        assert_same(text, 0..=text.len(), &limits);
    }
}

#[test]
fn every_cut_of_a_sample_is_partial() {
    for text in SAMPLES {
        let (Ok(ParseStatus::Complete(len)), _) = parse_with(text, &HeadLimits::default()) else { panic!() };
        for at in 0..len {
            assert_eq!(parse_with(&text[..at], &HeadLimits::default()).0, Ok(ParseStatus::Partial), "{at}");
        }
    }
}

#[test]
fn mutated_requests_never_panic_and_are_read_alike_in_any_pieces() {
    const BYTES: &[u8] = b"\0\t\n\r :/?*_-.,1aGZ\x0B\x7F\x80\xFF";
    for seed in 0..6000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut text = random.choice(SAMPLES).unwrap().to_vec();
        for _ in 0..random.usize(1..5) {
            let at = random.usize(..text.len());
            match random.u8(..5) {
                0 => text[at] = *random.choice(BYTES).unwrap(),
                1 => text.insert(at, *random.choice(BYTES).unwrap()),
                2 => drop(text.remove(at)),
                3 => text[at] = random.u8(..),
                _ => {
                    let end = random.usize(at..=text.len()).min(at + 20);
                    let piece = text[at..end].to_vec();
                    let to = random.usize(..text.len());
                    text.splice(to..to, piece);
                }
            }
        }
        let limits = if random.bool() {
            HeadLimits::default()
        } else {
            HeadLimits {
                line: random.usize(8..60),
                total: random.usize(20..120),
                fields: random.usize(..4),
                ignore_invalid_headers: random.bool(),
                underscores_in_headers: random.bool(),
            }
        };
        assert_same(&text, 0..=text.len(), &limits);
        let mut ends: Vec<_> = (0..random.usize(..5)).map(|_| random.usize(..=text.len())).collect();
        ends.sort_unstable();
        ends.push(text.len());
        assert_same(&text, ends.into_iter(), &limits);
    }
}

#[test]
fn a_head_that_comes_byte_by_byte_is_not_read_over_and_over() {
    let mut text = b"GET / HTTP/1.1\r\nHost: a\r\n".to_vec();
    for index in 0..900 {
        text.extend_from_slice(format!("X-{index}: {}\r\n", "v".repeat(20)).as_bytes());
    }
    text.extend_from_slice(b"\r\n");
    let limits = HeadLimits { total: 64 * 1024, ..HeadLimits::default() };
    let mut head = RequestHead::new();
    let mut progress = HeadScanState::default();
    for end in 1..text.len() {
        assert_eq!(resume_request(&text[..end], &mut progress, &limits, &mut head), Ok(ParseStatus::Partial));
        // Parsed lines are not parsed again: the next line begins after the last line terminator.
        let line_start = memchr::memrchr(b'\n', &text[..end]).map_or(0, |at| at + 1);
        assert_eq!(progress.line_start, line_start);
    }
    assert_eq!(
        resume_request(&text, &mut progress, &limits, &mut head),
        Ok(ParseStatus::Complete(text.len()))
    );
    assert_eq!(head.fields().len(), 901);
}
