//! Tests of `charset`.

use super::support::{OutputTestSite, text};

const KOI8: &str =
    "charset_map koi8-r utf-8 { c1 d0b0; c2 d0b1; } charset_map windows-1251 koi8-r { e0 c1; }";

/// Returns `Content-Type` and the body of a response.
fn got(
    trial: &OutputTestSite,
    path: &str,
    media_type: &'static str,
    body: &'static str,
) -> (String, Vec<u8>) {
    let answer = trial.answered(path, &[], text(media_type, body));
    let line = answer.head.lines().find_map(|line| line.strip_prefix("Content-Type: "));
    (line.unwrap_or_default().to_owned(), answer.body)
}

#[test]
fn charset_is_added_to_listed_types() {
    let trial = OutputTestSite::of(
        "location / { charset utf-8; return 200 x; } location /off { charset off; return 200 x; }
         location /arg { charset $arg_c; return 200 x; }",
    );
    let named = |path, media_type| got(&trial, path, media_type, "x").0;
    assert_eq!(named("GET /", "text/html"), "text/html; charset=utf-8");
    assert_eq!(named("GET /", "image/png"), "image/png");
    assert_eq!(named("GET /", "text/html; charset=koi8-r"), "text/html; charset=koi8-r");
    assert_eq!(named("GET /off", "text/html"), "text/html");
    assert_eq!(named("GET /arg?c=koi8-r", "text/html"), "text/html; charset=koi8-r");
    assert_eq!(named("GET /arg?c=off", "text/html"), "text/html");
    assert_eq!(named("GET /arg", "text/html"), "text/html");
}

#[test]
fn redirects_name_no_charset() {
    let trial = OutputTestSite::of("location / { charset utf-8; return 200 x; }");
    let mut answer = text("text/html", "x");
    answer.status = 301;
    assert!(trial.answered("GET /", &[], answer).head.contains("Content-Type: text/html\r\n"));
}

#[test]
fn body_is_converted_from_what_the_source_or_the_origin_names() {
    let trial = OutputTestSite::with(
        KOI8,
        "location / { charset koi8-r; source_charset utf-8; return 200 x; }
         location /o { charset koi8-r; override_charset on; return 200 x; }",
    );
    let koi8 = ("text/html; charset=koi8-r".to_owned(), b"x\xc1\xc2".to_vec());
    assert_eq!(got(&trial, "GET /", "text/html", "xаб"), koi8);
    assert_eq!(got(&trial, "GET /o", "text/html; charset=UTF-8", "xаб"), koi8);
    let unchanged = ("text/html; charset=utf-8".to_owned(), "xаб".into());
    assert_eq!(got(&trial, "GET /", "text/html; charset=utf-8", "xаб"), unchanged);
}

#[test]
fn bytes_for_bytes_keep_the_length_and_the_parts() {
    let trial = OutputTestSite::with(
        KOI8,
        "location / { charset koi8-r; source_charset windows-1251; return 200 x; }",
    );
    let answer = || {
        let mut answer = text("text/plain", "");
        answer.body = myriad_net::ResponseBody::Full(bytes::Bytes::from_static(b"ab\xe0\xff"));
        answer.ranges = true;
        answer
    };
    let whole = trial.answered("GET /", &[], answer());
    assert_eq!(whole.body, b"ab\xc1?");
    assert!(whole.head.contains("Content-Length: 4\r\n") && whole.head.contains("Accept-Ranges: bytes\r\n"));
    assert_eq!(trial.answered("GET /", &[("Range", "bytes=1-2")], answer()).body, b"b\xc1");
}

#[test]
fn charset_without_table_or_encoded_body_is_unchanged() {
    let trial =
        OutputTestSite::with(KOI8, "location / { charset koi8-r; override_charset on; return 200 x; }");
    let unknown = got(&trial, "GET /", "text/html; charset=latin1", "x");
    assert_eq!(unknown.0, "text/html; charset=latin1");
    let mut packed = text("text/html; charset=utf-8", "x");
    packed.field(b"Content-Encoding", b"gzip");
    let packed = trial.answered("GET /", &[], packed);
    assert!(packed.head.contains("charset=utf-8\r\n") && packed.body == b"x", "{}", packed.head);
}

#[test]
fn charset_variable_may_read_response_content_type() {
    let trial = OutputTestSite::with(
        "map $sent_http_content_type $by_type { text/html utf-8; default off; }",
        "location / { charset $by_type; charset_types *; return 200 x; }",
    );
    assert_eq!(got(&trial, "GET /", "text/html", "x").0, "text/html; charset=utf-8");
    assert_eq!(got(&trial, "GET /", "text/css", "x").0, "text/css");
}
