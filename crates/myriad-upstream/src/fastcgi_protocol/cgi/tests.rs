use super::*;

/// Expected status, reason, fields and head length.
type ExpectedHead = (u16, String, Vec<(String, String)>, usize);

fn head(text: &str) -> Result<ExpectedHead, HeadError> {
    match parse_head(text.as_bytes(), 4096)? {
        ParsedHead::Partial => panic!("{text:?} is a whole head"),
        ParsedHead::Complete(head, length) => {
            let string = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let fields = head.fields.iter().map(|(name, value)| (string(name), string(value))).collect();
            Ok((head.status, string(&head.reason), fields, length))
        }
    }
}

fn field(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn php_head_is_read() {
    let text =
        "Status: 404 Not Found\r\nX-Powered-By: PHP/8.2\r\nContent-type: text/html; charset=UTF-8\r\n\r\n<p>";
    let (status, reason, fields, length) = head(text).unwrap();
    assert_eq!((status, reason.as_str()), (404, "Not Found"));
    assert_eq!(
        fields,
        [field("X-Powered-By", "PHP/8.2"), field("Content-type", "text/html; charset=UTF-8")],
        "Status is not a field"
    );
    assert_eq!(&text[length..], "<p>");
}

#[test]
fn status_is_implied_where_it_is_not_sent() {
    assert_eq!(head("A: b\n\n").unwrap().0, 200);
    assert_eq!(head("\n").unwrap().0, 200);
    let (status, reason, ..) = head("location: /there\n\n").unwrap();
    assert_eq!((status, reason.as_str()), (302, "Moved Temporarily"));
    assert_eq!(head("Location: /there\nStatus: 301\n\n").unwrap().0, 301);
}

#[test]
fn first_of_several_statuses_counts() {
    assert_eq!(head("Status: 403\nStatus: 200 OK\n\n").unwrap().0, 403);
    assert_eq!(head("HTTP/1.1 410 Gone\r\nStatus: 200\r\n\r\n").unwrap().0, 410);
}

#[test]
fn status_line_is_accepted_first_and_only_first() {
    let (status, reason, fields, _) = head("HTTP/1.0 201 Made it\r\nA: b\r\n\r\n").unwrap();
    assert_eq!((status, reason.as_str()), (201, "Made it"));
    assert_eq!(fields, [field("A", "b")]);
    assert_eq!(head("A: b\nHTTP/1.1 200 OK\n\n").unwrap_err(), HeadError::InvalidHeader);
}

#[test]
fn lines_end_in_lf_or_crlf_even_mixed() {
    let (_, _, fields, length) = head("A: 1\nB: 2\r\nC:3  \n\r\nbody").unwrap();
    assert_eq!(fields, [field("A", "1"), field("B", "2"), field("C", "3")]);
    assert_eq!(length, 19);
}

#[test]
fn repeated_fields_are_retained_and_line_without_colon_is_skipped() {
    let (_, _, fields, _) = head("Set-Cookie: a=é\nSet-Cookie: b=2\nNoColon\n\n").unwrap();
    assert_eq!(fields, [field("Set-Cookie", "a=é"), field("Set-Cookie", "b=2")]);
}

#[test]
fn invalid_fields_are_refused() {
    for text in [
        " folded: x\n\n",
        "A: b\n continued\n\n",
        "Bad name: x\n\n",
        "A : x\n\n",
        ": x\n\n",
        "A: b\rC: d\n\n",
        "A: nul\0\n\n",
        "<b>Warning</b>: broken\n\n",
        "\u{e9}: x\n\n",
    ] {
        assert_eq!(head(text).unwrap_err(), HeadError::InvalidHeader, "{text:?}");
    }
}

#[test]
fn invalid_statuses_are_refused() {
    for text in [
        "Status: \n\n",
        "Status: 20\n\n",
        "Status: 2000\n\n",
        "Status: 100 Continue\n\n",
        "Status: 101\n\n",
        "Status: abc\n\n",
        "HTTP/2 200 OK\n\n",
        "HTTP/1.1\n\n",
        "HTTP/1.1 20 OK\n\n",
        "HTTP/1.1 200 O\rK\n\n",
    ] {
        assert_eq!(head(text).unwrap_err(), HeadError::InvalidStatus, "{text:?}");
    }
}

#[test]
fn head_is_partial_at_every_split_and_then_the_same() {
    let text = b"Status: 301\r\nLocation: /a\nX: y\r\n\r\nrest";
    for cut in 0..=text.len() {
        match parse_head(&text[..cut], 4096).unwrap() {
            ParsedHead::Partial => assert!(cut < text.len() - 4, "cut at {cut}"),
            ParsedHead::Complete(head, length) => {
                assert!(cut >= text.len() - 4, "cut at {cut}");
                assert_eq!((head.status, head.fields.len(), length), (301, 2, text.len() - 4));
            }
        }
    }
}

#[test]
fn size_is_bounded_exactly() {
    let text = format!("A: {}\n\n", "x".repeat(100));
    assert!(matches!(parse_head(text.as_bytes(), text.len()), Ok(ParsedHead::Complete(..))));
    assert_eq!(parse_head(text.as_bytes(), text.len() - 1).unwrap_err(), HeadError::TooBig);
    assert_eq!(parse_head(&text.as_bytes()[..50], 50).unwrap_err(), HeadError::TooBig);
    assert!(matches!(parse_head(&text.as_bytes()[..49], 50), Ok(ParsedHead::Partial)));
    let many = "A: b\n".repeat(MAX_FIELDS + 1) + "\n";
    assert_eq!(parse_head(many.as_bytes(), 1 << 20).unwrap_err(), HeadError::TooBig);
}

#[test]
fn mutated_heads_never_panic() {
    let sample =
        b"HTTP/1.1 200 OK\r\nStatus: 404 Not Found\r\nLocation: /a\nContent-Type: text/html\r\n\r\n<html>";
    for seed in 0..20_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut bytes = sample.to_vec();
        for _ in 0..random.usize(1..8) {
            let at = random.usize(0..bytes.len());
            bytes[at] = if random.bool() { random.u8(..) } else { *random.choice(b"\r\n: \0H/").unwrap() };
        }
        bytes.truncate(random.usize(0..=bytes.len()));
        if let Ok(ParsedHead::Complete(head, length)) = parse_head(&bytes, 200) {
            assert!((200..=999).contains(&head.status), "seed {seed}");
            assert!(length <= bytes.len() && bytes[length - 1] == b'\n', "seed {seed}");
            for (name, value) in head.fields.iter() {
                assert!(!name.is_empty() && !value.contains(&b'\n') && !value.contains(&0), "seed {seed}");
            }
        }
    }
}

#[test]
fn field_name_too_long_to_be_stored_is_rejected_not_dropped() {
    for (length, fits) in [(Fields::MAX_NAME, true), (Fields::MAX_NAME + 1, false)] {
        let text = format!("{}: 5\n\n", "a".repeat(length));
        match parse_head(text.as_bytes(), 1 << 20) {
            Ok(ParsedHead::Complete(head, _)) => assert!(fits && head.fields.len() == 1),
            other => assert!(!fits && other.unwrap_err() == HeadError::TooBig),
        }
    }
}
