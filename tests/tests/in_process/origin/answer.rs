//! Tests of the response head that a client receives.

use super::support::{OriginTrial, head, text};
use myriad_origin::answer::client_response;
use myriad_origin::respond::parse_length;

fn trial(rules: &str) -> OriginTrial {
    OriginTrial::of(&format!("location / {{ proxy_pass http://127.0.0.1:1; {rules} }}"), "GET /", &[])
}

#[test]
fn fields_of_the_connection_end_here_even_where_they_are_to_be_passed() {
    // RFC 9110 section 7.6.1: framing and connection fields are hop-by-hop.
    let fields = [
        ("Connection", "X-Hop, close"),
        ("Keep-Alive", "timeout=5"),
        ("Proxy-Connection", "close"),
        ("Transfer-Encoding", "chunked"),
        ("TE", "trailers"),
        ("Upgrade", "h2c"),
        ("Content-Length", "5"),
        ("x-hop", "1"),
        ("X-Kept", "1"),
    ];
    let passed: Vec<String> = fields.iter().map(|(name, _)| format!("proxy_pass_header {name};")).collect();
    assert_eq!(trial("").lines(&fields), "X-Kept: 1\r\n");
    assert_eq!(trial(&passed.join(" ")).lines(&fields), "X-Kept: 1\r\n");
}

#[test]
fn fields_between_origin_and_accelerator_are_hidden_unless_they_are_passed() {
    let fields = [
        ("Date", "d"),
        ("Server", "s"),
        ("X-Pad", "p"),
        ("X-Accel-Expires", "0"),
        ("X-Accel-Redirect", "/x"),
        ("X-Accel-Limit-Rate", "0"),
        ("X-Accel-Buffering", "no"),
        ("X-Accel-Charset", "utf-8"),
    ];
    assert_eq!(trial("").lines(&fields), "");
    for (name, value) in fields {
        let lines = trial(&format!("proxy_pass_header {};", name.to_lowercase())).lines(&fields);
        assert_eq!(lines, format!("{name}: {value}\r\n"));
    }
}

#[test]
fn hidden_field_is_hidden_in_any_case_and_each_time() {
    let fields = [("X-Powered-By", "1"), ("x-powered-by", "2"), ("X-Powered", "kept"), ("SET-COOKIE", "a=b")];
    let lines = trial("proxy_hide_header x-Powered-By; proxy_hide_header Set-Cookie;").lines(&fields);
    assert_eq!(lines, "X-Powered: kept\r\n");
}

#[test]
fn status_field_is_consumed_for_cgi_protocols_and_passed_for_http() {
    // RFC 3875 section 6.3.3: `Status` is the status line of a CGI response.
    let fields = [("Status", "200 OK"), ("X-Kept", "1")];
    for (pass, lines) in [
        ("fastcgi_pass 127.0.0.1:1; fastcgi_pass_header Status;", "X-Kept: 1\r\n"),
        ("scgi_pass 127.0.0.1:1;", "X-Kept: 1\r\n"),
        ("uwsgi_pass 127.0.0.1:1;", "X-Kept: 1\r\n"),
        ("proxy_pass http://127.0.0.1:1;", "Status: 200 OK\r\nX-Kept: 1\r\n"),
    ] {
        assert_eq!(
            OriginTrial::of(&format!("location / {{ {pass} }}"), "GET /", &[]).lines(&fields),
            lines,
            "{pass}"
        );
    }
}

#[test]
fn cookies_are_sent_only_to_their_client() {
    let trial = trial("proxy_pass_header Set-Cookie;");
    let head = head(200, &[("Set-Cookie", "a=b"), ("X-Kept", "1")]);
    assert_eq!(
        text(&client_response(&head, &trial.origin(), true).lines),
        "Set-Cookie: a=b\r\nX-Kept: 1\r\n"
    );
    assert_eq!(text(&client_response(&head, &trial.origin(), false).lines), "X-Kept: 1\r\n");
}

#[test]
fn trailers_exclude_fields_that_belong_in_head() {
    // RFC 9110 section 6.5.1.
    let trial = trial("proxy_hide_header X-Hidden; proxy_pass_trailers on;");
    let origin = trial.origin();
    for name in [
        "Set-Cookie",
        "Cache-Control",
        "Content-Encoding",
        "Content-Type",
        "Content-Range",
        "Vary",
        "Location",
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "X-Accel-Expires",
        "Connection",
        "X-Hidden",
    ] {
        assert!(
            !origin.passes_trailer(myriad_http::Known::from_bytes(name.as_bytes()), name.as_bytes()),
            "{name}"
        );
    }
    assert!(origin.passes_trailer(None, b"X-Checksum"));
}

#[test]
fn charset_of_the_accelerator_joins_a_type_that_names_none() {
    let typed = |rules: &str, media_type: &str| {
        let fields = [("Content-Type", media_type), ("X-Accel-Charset", "koi8-r")];
        text(&trial(rules).client_response(200, &fields).media_type.expect("a type"))
    };
    assert_eq!(typed("", "text/html"), "text/html; charset=koi8-r");
    assert_eq!(typed("", "text/html; Charset=utf-8"), "text/html; Charset=utf-8");
    assert_eq!(typed("proxy_ignore_headers X-Accel-Charset;", "text/html"), "text/html");
    assert!(trial("").client_response(200, &[("X-Accel-Charset", "koi8-r")]).media_type.is_none());
}

#[test]
fn rate_of_the_accelerator_is_a_size_or_nothing() {
    let rate = |rules: &str, value: &str| {
        trial(rules).client_response(200, &[("X-Accel-Limit-Rate", value)]).limit_rate
    };
    assert_eq!(rate("", "10k"), Some(10 << 10));
    assert_eq!(rate("", "0"), Some(0));
    for value in ["", "off", "-1", "+1", "1.5k", "99999999999999999999"] {
        assert_eq!(rate("", value), None, "{value}");
    }
    assert_eq!(rate("proxy_ignore_headers X-Accel-Limit-Rate;", "10k"), None);
}

#[test]
fn length_is_digits_and_nothing_else() {
    // RFC 9110 section 8.6.
    assert_eq!([&b"0"[..], b"7", b"007"].map(parse_length), [Some(0), Some(7), Some(7)]);
    for value in
        [&b""[..], b"+7", b"-7", b" 7", b"7 ", b"0x7", b"7,7", b"7.0", b"18446744073709551616", b"\xc2\xb2"]
    {
        assert_eq!(parse_length(value), None, "{}", value.escape_ascii());
    }
}

#[test]
fn words_of_a_status_line_pass_where_they_are_unusual_and_text() {
    let reason = |words: &[u8]| {
        let mut head = head(404, &[]);
        head.reason = words.to_vec();
        client_response(&head, &trial("").origin(), true).reason
    };
    assert_eq!(reason(b"Nothing Here").as_deref(), Some("Nothing Here"));
    assert_eq!(reason(b"Not Found"), None);
    assert_eq!(reason(b""), None);
    assert_eq!(reason(b"\xff\xfe"), None);
}

#[test]
fn what_the_origin_has_coded_is_not_coded_again() {
    let compressible = |fields: &[(&str, &str)]| trial("").client_response(200, fields).compressible;
    assert!(compressible(&[]) && compressible(&[("Content-Encoding", "")]));
    assert!(
        !compressible(&[("Content-Encoding", "gzip")]) && !compressible(&[("Content-Encoding", "x-unknown")])
    );
}
