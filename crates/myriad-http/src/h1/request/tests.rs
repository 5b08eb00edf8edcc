use super::*;
use crate::Fields;

mod corpus;
mod splits;

fn parse_with(text: &[u8], limits: &HeadLimits) -> (Result<ParseStatus, ParseError>, RequestHead) {
    let mut head = RequestHead::new();
    let result = parse_request(text, limits, &mut head);
    (result, head)
}

fn parse(text: &str) -> (Result<ParseStatus, ParseError>, RequestHead) {
    parse_with(text.as_bytes(), &HeadLimits::default())
}

fn accept(text: &str) -> RequestHead {
    let (result, head) = parse(text);
    assert_eq!(result, Ok(ParseStatus::Complete(text.len())), "{text:?}");
    head
}

#[track_caller]
fn refuse(text: &str, error: ParseError) {
    assert_eq!(parse(text).0, Err(error), "{text:?}");
}

/// Returns a request with two field lines: `Host` and `line`.
fn with_line(line: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n")
}

#[test]
fn a_browser_request_is_read() {
    let text = "GET /a/b?c=d HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: x y\r\nX-Empty:\r\n\
                Accept-Encoding:gzip, br\r\nCookie: \t a=b; c=d \t\r\n\r\n";
    let (result, head) = parse(&format!("{text}GET /next"));
    assert_eq!(result, Ok(ParseStatus::Complete(text.len())));
    assert_eq!(head.method(), Method::Get);
    assert_eq!(head.method_bytes(), b"GET");
    assert_eq!(head.target(), b"/a/b?c=d");
    assert_eq!(head.version(), HttpVersion::Http11);
    assert_eq!(head.request_line(), b"GET /a/b?c=d HTTP/1.1");
    assert_eq!(head.raw(), text.as_bytes());
    let fields: Vec<_> = head.fields().iter().collect();
    let expected: [(&[u8], &[u8]); 5] = [
        (b"Host", b"www.example.com"),
        (b"User-Agent", b"x y"),
        (b"X-Empty", b""),
        (b"Accept-Encoding", b"gzip, br"),
        (b"Cookie", b"a=b; c=d"),
    ];
    assert_eq!(fields, expected);
    assert_eq!(head.known(Known::Cookie), Some(&b"a=b; c=d"[..]));
}

#[test]
fn a_head_is_reused_without_allocating_and_without_remnants() {
    let mut head = RequestHead::new();
    let limits = HeadLimits::default();
    parse_request(b"POST /long/target HTTP/1.0\r\nCookie: a\r\nX: yyyyyyyyyyy\r\n\r\n", &limits, &mut head)
        .unwrap();
    let before = head.raw().as_ptr();
    parse_request(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", &limits, &mut head).unwrap();
    assert_eq!(head.raw().as_ptr(), before);
    assert_eq!((head.method(), head.target(), head.version()), (Method::Get, &b"/"[..], HttpVersion::Http11));
    assert_eq!((head.fields().len(), head.known(Known::Cookie)), (1, None));
}

#[test]
fn fields_can_be_added_to_a_parsed_head() {
    let mut head = accept(&with_line("X: y"));
    let raw = head.raw().to_vec();
    head.fields_mut().push(b"X-Added", b"z");
    head.fields_mut().set_known(Known::Host, b"other");
    assert_eq!(head.raw(), raw);
    assert_eq!(head.fields().get(b"x-added"), Some(&b"z"[..]));
    assert_eq!(head.known(Known::Host), Some(&b"other"[..]));
    assert_eq!(head.target(), b"/");
}

#[test]
fn line_ends_of_lf_alone_are_taken_as_nginx_does() {
    let head = accept("GET / HTTP/1.1\nHost: a\nX: y\r\nZ: 1 \n\n");
    assert_eq!(head.fields().get(b"z"), Some(&b"1"[..]));
    assert_eq!(head.request_line(), b"GET / HTTP/1.1");
    accept("GET / HTTP/1.1\r\nHost: a\r\n\n");
}

#[test]
fn empty_lines_before_the_request_are_passed_over() {
    let head = accept("\r\n\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(head.raw(), b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(head.known(Known::Host), Some(&b"a"[..]));
    refuse("\r\rGET / HTTP/1.1\r\n", ParseError::BareCarriageReturn);
    refuse(&"\r\n".repeat(5000), ParseError::HeaderTooLarge);
    assert_eq!(parse("\r\n\r\n\r").0, Ok(ParseStatus::Partial));
}

#[test]
fn every_form_of_target_is_taken_where_it_belongs() {
    for line in [
        "GET http://a.example/b?c HTTP/1.1",
        "GET http://a.example HTTP/1.1",
        "GET https://[::1]:443/ HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "CONNECT a.example:443 HTTP/1.1",
        "GET //a HTTP/1.1",
        "GET /\u{e9}|\"<>{}\\^` HTTP/1.1",
        "GET    /    HTTP/1.1  ",
        "M-SEARCH / HTTP/1.1",
        "_X / HTTP/1.12",
    ] {
        accept(&format!("{line}\r\nHost: a\r\n\r\n"));
    }
    for target in [
        "*",
        "a",
        "?a",
        "#a",
        "http:/a",
        "http://",
        "http://a b/",
        "http://u@h/",
        "http://a:b/",
        "/a b",
        "/\x01",
        "/\x7F",
        "/\t",
        "/\0",
        "\x0B/",
    ] {
        let (result, _) = parse(&format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(result, Err(ParseError::InvalidTarget), "{target:?}");
    }
    refuse("CONNECT /a HTTP/1.1\r\nHost: a\r\n\r\n", ParseError::InvalidTarget);
}

#[test]
fn methods_that_are_not_upper_case_are_refused() {
    for line in [
        "get / HTTP/1.1",
        "GeT / HTTP/1.1",
        " GET / HTTP/1.1",
        "G\tET / HTTP/1.1",
        "GET\t/ HTTP/1.1",
        "G:T / HTTP/1.1",
        "\x16\x03\x01\x02",
        "GET\r\n",
        "G1T /",
    ] {
        refuse(&format!("{line}\r\nHost: a\r\n\r\n"), ParseError::InvalidMethod);
    }
}

#[test]
fn unsupported_and_invalid_versions_are_distinguished() {
    for (version, error) in [
        ("HTTP/2.0", ParseError::UnsupportedVersion),
        ("HTTP/3.1", ParseError::UnsupportedVersion),
        ("HTTP/10.0", ParseError::UnsupportedVersion),
        ("HTTP/0.9", ParseError::InvalidVersion),
        ("HTTP/1.", ParseError::InvalidVersion),
        ("HTTP/1", ParseError::InvalidVersion),
        ("HTTP/1.1a", ParseError::InvalidVersion),
        ("HTTP/1.1 a", ParseError::InvalidVersion),
        ("HTTP/1.123", ParseError::InvalidVersion),
        ("HTTP/01.1", ParseError::InvalidVersion),
        ("HTTP/1.01", ParseError::InvalidVersion),
        ("HTTP/01.01", ParseError::InvalidVersion),
        ("HTTP/1.00", ParseError::InvalidVersion),
        ("HTTP/02.0", ParseError::InvalidVersion),
        ("HTTP/123.1", ParseError::InvalidVersion),
        ("HTTP/a.1", ParseError::InvalidVersion),
        ("HTTP/1.1\t", ParseError::InvalidVersion),
        ("HTTP/1.1\rX", ParseError::BareCarriageReturn),
        ("http/1.1", ParseError::InvalidTarget),
        ("HTTQ/1.1", ParseError::InvalidTarget),
        ("x HTTP/1.1", ParseError::InvalidTarget),
        ("", ParseError::Http09),
    ] {
        refuse(&format!("GET / {version}\r\nHost: a\r\n\r\n"), error);
    }
    refuse("GET /\r\n", ParseError::Http09);
    refuse("GET /\n", ParseError::Http09);
    assert_eq!(ParseError::UnsupportedVersion.status(), 505);
    assert_eq!(accept("GET / HTTP/1.0\r\n\r\n").version(), HttpVersion::Http10);
    assert_eq!(accept("GET / HTTP/1.9\r\nHost: a\r\n\r\n").version(), HttpVersion::Http11);
}

#[test]
fn host_is_required_valid_and_single() {
    refuse("GET / HTTP/1.1\r\n\r\n", ParseError::MissingHost);
    refuse("GET http://a/ HTTP/1.1\r\n\r\n", ParseError::MissingHost);
    refuse("GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", ParseError::RepeatedField);
    refuse("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", ParseError::RepeatedField);
    for host in ["", "a/b", "a b", "a@b", "a..b", "[::1", "a:x", "."] {
        refuse(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"), ParseError::InvalidHost);
        refuse(&format!("GET / HTTP/1.0\r\nHost: {host}\r\n\r\n"), ParseError::InvalidHost);
    }
    accept("GET / HTTP/1.1\r\nHOST:Example.com.:80\r\n\r\n");
}

#[test]
fn fields_of_one_value_may_not_repeat() {
    for name in [
        "Content-Length",
        "Transfer-Encoding",
        "If-None-Match",
        "If-Modified-Since",
        "If-Range",
        "Authorization",
        "Expect",
    ] {
        refuse(&with_line(&format!("{name}: 1\r\n{}: 1", name.to_uppercase())), ParseError::RepeatedField);
    }
    assert_eq!(accept(&with_line("Cookie: a\r\nCookie: b\r\nX: c\r\nX: d")).fields().len(), 5);
}

#[test]
fn invalid_header_names_are_dropped_or_retained_as_configured() {
    let text = with_line("X_A: 1\r\nX.B: 2\r\nX!: 3\r\nX-C: 4\r\nContent_Length: 5");
    let names = |limits: HeadLimits| -> String {
        let (_, head) = parse_with(text.as_bytes(), &limits);
        head.fields().iter().map(|(_, value)| String::from_utf8(value.to_vec()).unwrap()).collect()
    };
    let limits = HeadLimits::default();
    assert_eq!(names(limits), "a4");
    assert_eq!(names(HeadLimits { underscores_in_headers: true, ..limits }), "a145");
    assert_eq!(names(HeadLimits { ignore_invalid_headers: false, ..limits }), "a12345");
    assert_eq!(accept(&text).known(Known::ContentLength), None);
}

#[test]
fn names_that_are_no_tokens_are_refused() {
    for byte in 0x21..=0xff_u8 {
        let line = [b"GET / HTTP/1.1\r\nHost: a\r\nX", &[byte][..], b"A: 1\r\n\r\n"].concat();
        let is_token = byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        for ignore_invalid_headers in [true, false] {
            let limits = HeadLimits { ignore_invalid_headers, ..HeadLimits::default() };
            let result = parse_with(&line, &limits).0;
            match byte {
                b':' => assert!(result.is_ok()),
                0x7f => assert_eq!(result, Err(ParseError::ControlByte)),
                _ if is_token => assert!(result.is_ok(), "{byte}"),
                _ => assert_eq!(result, Err(ParseError::InvalidFieldName), "{byte}"),
            }
        }
    }
    refuse(&with_line("X[ no colon"), ParseError::InvalidFieldName);
}

#[test]
fn head_limits_are_exact_to_the_byte() {
    let limits = HeadLimits { line: 32, total: 80, fields: 3, ..HeadLimits::default() };
    let result = |text: String| parse_with(text.as_bytes(), &limits).0;
    let line = |len: usize| format!("GET /{} HTTP/1.1\r\n", "a".repeat(len - 16));
    let field = |len: usize| format!("X: {}\r\n", "a".repeat(len - 5));
    let complete = |text: String| {
        let len = text.len();
        assert_eq!(result(text), Ok(ParseStatus::Complete(len)));
    };
    complete(format!("{}Host: a\r\n\r\n", line(32)));
    assert_eq!(result(format!("{}Host: a\r\n\r\n", line(33))), Err(ParseError::RequestLineTooLong));
    assert_eq!(ParseError::RequestLineTooLong.status(), 414);
    complete(format!("{}Host: a\r\n{}\r\n", line(20), field(32)));
    assert_eq!(result(format!("{}Host: a\r\n{}\r\n", line(20), field(33))), Err(ParseError::HeaderTooLarge));
    assert_eq!(
        (ParseError::HeaderTooLarge.status(), ParseError::HeaderTooLarge.error_page_code()),
        (400, 494)
    );
    complete(format!("{}Host: a\r\n{}{}\r\n", line(20), field(32), field(17)));
    assert_eq!(
        result(format!("{}Host: a\r\n{}{}\r\n", line(20), field(32), field(22))),
        Err(ParseError::HeaderTooLarge)
    );
    complete(format!("{}Host: a\r\nX: 1\r\nX: 2\r\n\r\n", line(20)));
    assert_eq!(
        result(format!("{}Host: a\r\nX: 1\r\nX: 2\r\nX: 3\r\n\r\n", line(20))),
        Err(ParseError::TooManyFields)
    );
    complete(format!("{}Host: a\r\nX: 1\r\nX: 2\r\nX_X: 3\r\n\r\n", line(20)));
}

#[test]
fn a_line_that_does_not_end_is_refused_once_the_buffer_would_be_full() {
    let limits = HeadLimits { line: 32, total: 64, ..HeadLimits::default() };
    let result = |text: &str| parse_with(text.as_bytes(), &limits).0;
    assert_eq!(result(&format!("GET /{}", "a".repeat(26))), Ok(ParseStatus::Partial));
    assert_eq!(result(&format!("GET /{}", "a".repeat(27))), Err(ParseError::RequestLineTooLong));
    assert_eq!(result(&"A".repeat(31)), Ok(ParseStatus::Partial));
    assert_eq!(result(&"A".repeat(32)), Err(ParseError::InvalidMethod));
    let head = "GET / HTTP/1.1\r\n";
    assert_eq!(result(&format!("{head}X: {}", "a".repeat(28))), Ok(ParseStatus::Partial));
    assert_eq!(result(&format!("{head}X: {}", "a".repeat(29))), Err(ParseError::HeaderTooLarge));
}

#[test]
fn refused_request_line_is_retained_for_log() {
    let (_, head) = parse("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(head.request_line(), b"GET /a b HTTP/1.1");
    let (_, head) = parse("\r\nget / HTTP/1.1\r\n");
    assert_eq!(head.request_line(), b"get / HTTP/1.1");
    let (_, head) = parse("GET /a HTTP/1.1\r\nHost: a\r\n bad\r\n\r\n");
    assert_eq!(head.request_line(), b"GET /a HTTP/1.1");
    assert_eq!((head.target(), head.known(Known::Host)), (&b"/a"[..], Some(&b"a"[..])));
}

#[test]
fn field_name_too_long_to_be_stored_is_rejected_not_truncated() {
    let limits = HeadLimits { line: 1 << 18, total: 1 << 20, ..HeadLimits::default() };
    for name in ["Content-Length", "Transfer-Encoding", "X-A"] {
        let longest = format!("{name}{}", "a".repeat(Fields::MAX_NAME - name.len()));
        let text = with_line(&format!("{longest}: 5"));
        let (result, head) = parse_with(text.as_bytes(), &limits);
        assert_eq!(result, Ok(ParseStatus::Complete(text.len())));
        assert_eq!(head.fields().get(longest.as_bytes()), Some(&b"5"[..]));
        for beyond in [Fields::MAX_NAME + 1 - name.len(), Fields::MAX_NAME + 1] {
            let text = with_line(&format!("{name}{}: 5", "a".repeat(beyond)));
            let (result, head) = parse_with(text.as_bytes(), &limits);
            assert_eq!(result, Err(ParseError::HeaderTooLarge));
            assert_eq!(head.fields().get(name.as_bytes()), None);
        }
    }
}
