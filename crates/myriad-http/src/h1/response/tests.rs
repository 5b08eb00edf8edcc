use super::*;
use crate::Known;

fn parse(text: &[u8]) -> (Result<ParseStatus, ParseError>, ResponseHead) {
    let mut head = ResponseHead::new(599).with(b"Stale", b"1");
    let result = parse_response(text, &HeadLimits::default(), &mut head);
    (result, head)
}

#[test]
fn a_response_is_read() {
    let text =
        b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nSet-Cookie: a\r\nset-cookie: b\r\n\r\nbody";
    let (result, head) = parse(text);
    assert_eq!(result, Ok(ParseStatus::Complete(text.len() - 4)));
    assert_eq!((head.status, &head.reason[..], head.version), (404, &b"Not Found"[..], HttpVersion::Http11));
    assert_eq!(head.known(Known::ContentType), Some(&b"text/html"[..]));
    assert_eq!(head.fields.known_all(Known::SetCookie).collect::<Vec<_>>(), [b"a", b"b"]);
    assert_eq!(head.fields.len(), 3);
}

#[test]
fn interim_responses_are_heads_of_their_own() {
    let text = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
    let (result, head) = parse(text);
    let Ok(ParseStatus::Complete(len)) = result else { panic!("{result:?}") };
    assert_eq!(head.status, 103);
    let (result, head) = parse(&text[len..]);
    assert_eq!((result, head.status), (Ok(ParseStatus::Complete(19)), 200));
    assert!(head.fields.is_empty());
}

#[test]
fn status_lines_are_read_as_leniently_as_nginx_does() {
    for (line, status, reason) in [
        ("HTTP/1.0 200", 200, ""),
        ("HTTP/1.1 200 ", 200, ""),
        ("HTTP/1.1  200  Fine ", 200, "Fine"),
        ("HTTP/1.1 403.1 Forbidden", 403, "1 Forbidden"),
        ("HTTP/1.1 999 \u{e9}\tx", 999, "\u{e9}\tx"),
    ] {
        for end in ["\r\n", "\n"] {
            let (result, head) = parse(format!("{line}{end}{end}").as_bytes());
            assert!(matches!(result, Ok(ParseStatus::Complete(_))), "{line}");
            assert_eq!((head.status, &head.reason[..]), (status, reason.as_bytes()), "{line}");
        }
    }
    for line in [
        "HTTP/2 200 OK",
        "HTTP/1.1 20 OK",
        "HTTP/1.1 2000 OK",
        "HTTP/1.1 abc",
        "HTTP/1.1 099 x",
        "HTTP/1.1",
        "HTTP/1.x 200",
        "ICY 200 OK",
        "HTTP/1.1200 OK",
        "HTTP/1.1 200 a\0b",
        "<html>",
        "HTTP/1.10 200",
    ] {
        assert_eq!(
            parse(format!("{line}\r\n\r\n").as_bytes()).0,
            Err(ParseError::InvalidStatusLine),
            "{line:?}"
        );
    }
}

#[test]
fn lines_that_origins_garble_are_passed_over_or_refused() {
    let (result, head) =
        parse(b"HTTP/1.1 200 OK\r\nHTTP/1.1 200 OK\r\nnothing\r\nX: a\x01b\r\nX_Y.Z: 1\r\n\r\n");
    assert!(matches!(result, Ok(ParseStatus::Complete(_))), "{result:?}");
    assert_eq!(head.fields.len(), 2);
    assert_eq!(head.fields.get(b"x"), Some(&b"a\x01b"[..]));
    for (line, error) in [
        ("X : 1", ParseError::InvalidFieldName),
        (" X: 1", ParseError::ObsoleteFold),
        ("X: 1\r\n\t2", ParseError::ObsoleteFold),
        ("X: a\0b", ParseError::ControlByte),
        ("X: a\rb", ParseError::BareCarriageReturn),
        (": 1", ParseError::InvalidFieldName),
    ] {
        assert_eq!(parse(format!("HTTP/1.1 200 OK\r\n{line}\r\n\r\n").as_bytes()).0, Err(error), "{line:?}");
    }
}

#[test]
fn limits_hold_for_responses() {
    let limits = HeadLimits { line: 40, total: 60, fields: 2, ..HeadLimits::default() };
    let result = |text: &str| parse_response(text.as_bytes(), &limits, &mut ResponseHead::default());
    assert!(matches!(result("HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\n\r\n"), Ok(ParseStatus::Complete(_))));
    assert_eq!(result("HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n"), Err(ParseError::TooManyFields));
    assert_eq!(result(&format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(40))), Err(ParseError::HeaderTooLarge));
    assert_eq!(result(&format!("HTTP/1.1 200 {}", "x".repeat(40))), Err(ParseError::HeaderTooLarge));
    let two = format!("HTTP/1.1 200 OK\r\nA: {0}\r\nB: {0}\r\n\r\n", "x".repeat(20));
    assert_eq!(result(&two), Err(ParseError::HeaderTooLarge));
}

#[test]
fn every_cut_of_a_response_is_partial() {
    let text = b"HTTP/1.1 200 OK\r\nA: 1\r\nno colon\r\nContent-Length: 0\n\r\n";
    for at in 0..text.len() {
        assert_eq!(parse(&text[..at]).0, Ok(ParseStatus::Partial), "{at}");
    }
    assert_eq!(parse(text).0, Ok(ParseStatus::Complete(text.len())));
}

#[test]
fn a_field_block_is_appended_only_when_it_is_complete() {
    let mut fields: Fields = [("Before", "1")].into_iter().collect();
    let limits = HeadLimits::default();
    assert_eq!(parse_field_block(b"Status: 404\r\nX: ", &limits, &mut fields), Ok(ParseStatus::Partial));
    assert!(parse_field_block(b"Status: 404\r\nX Y: 1\r\n\r\n", &limits, &mut fields).is_err());
    assert_eq!((fields.len(), fields.has(Known::Status)), (1, false));
    assert_eq!(
        parse_field_block(b"Status: 404\r\n\r\nbody", &limits, &mut fields),
        Ok(ParseStatus::Complete(15))
    );
    let all: Vec<_> = fields.iter().collect();
    assert_eq!(all, [(&b"Before"[..], &b"1"[..]), (b"Status", b"404")]);
}

#[test]
fn mutated_responses_never_panic_and_a_complete_head_depends_on_its_own_bytes_only() {
    let base = b"HTTP/1.1 301 Moved\r\nLocation: /a\r\nHTTP/1.1 x\r\nContent-Length: 0\r\n\r\n";
    for seed in 0..5000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut text = base.to_vec();
        for _ in 0..random.usize(1..5) {
            let at = random.usize(..text.len());
            text[at] = if random.bool() { random.u8(..) } else { *random.choice(b"\r\n :\t\0").unwrap() };
        }
        let (result, head) = parse(&text);
        if let Ok(ParseStatus::Complete(len)) = result {
            let (again, same) = parse(&text[..len]);
            assert_eq!(again, result, "seed {seed}");
            assert_eq!(same.fields.iter().collect::<Vec<_>>(), head.fields.iter().collect::<Vec<_>>());
            assert!((100..=999).contains(&head.status));
        }
    }
}

#[test]
fn field_name_too_long_to_be_stored_is_rejected_not_truncated() {
    let limits = HeadLimits { line: 1 << 18, total: 1 << 20, ..HeadLimits::default() };
    let text = format!("HTTP/1.1 200 OK\r\nSet-Cookie{}: a=b\r\n\r\n", "a".repeat(1 << 16));
    let mut head = ResponseHead::default();
    assert_eq!(parse_response(text.as_bytes(), &limits, &mut head), Err(ParseError::HeaderTooLarge));
    assert!(head.fields.is_empty());
}
