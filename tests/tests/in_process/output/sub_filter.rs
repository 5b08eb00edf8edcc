//! Tests of `sub_filter`.

use super::support::{OutputTestSite, text};
use myriad_exchange::exchange::ContentResponse;

fn page() -> ContentResponse {
    let mut answer = text("text/html", "a cat");
    answer.field(b"Last-Modified", b"Tue, 01 Nov 1994 12:00:00 GMT");
    answer.field(b"ETag", b"\"a\"");
    answer
}

#[test]
fn strings_are_replaced_once_or_everywhere_with_variable_values() {
    let trial = OutputTestSite::of(
        "location / { sub_filter A $arg_by; return 200 x; }
         location /all { sub_filter a $arg_by; sub_filter_once off; return 200 x; }",
    );
    assert_eq!(trial.answered("GET /?by=the", &[], page()).body, b"the cat");
    assert_eq!(trial.answered("GET /all?by=o", &[], page()).body, b"o cot");
    assert_eq!(trial.answered("GET /all", &[], page()).body, b" ct");
}

#[test]
fn validators_are_retained_only_with_last_modified_directive() {
    let trial = OutputTestSite::of(
        "location / { sub_filter a b; return 200 x; }
         location /m { sub_filter a b; sub_filter_last_modified on; return 200 x; }",
    );
    let plain = trial.answered("GET /", &[], page()).head;
    assert!(!plain.contains("Last-Modified") && !plain.contains("ETag"), "{plain}");
    let unchanged = trial.answered("GET /m", &[], page()).head;
    assert!(
        unchanged.contains("Last-Modified: Tue, 01 Nov") && unchanged.contains("ETag: W/\"a\"\r\n"),
        "{unchanged}"
    );
}

#[test]
fn other_types_and_what_is_packed_or_empty_stay_as_they_are() {
    let trial = OutputTestSite::of("location / { sub_filter a b; sub_filter $arg_nothing c; return 200 x; }");
    let mut css = page();
    css.media_type = Some(b"text/css"[..].into());
    assert_eq!(trial.answered("GET /", &[], css).body, b"a cat");
    let mut packed = page();
    packed.field(b"Content-Encoding", b"br");
    assert!(trial.answered("GET /", &[], packed).head.contains("ETag: \"a\"\r\n"));
    assert!(trial.answered("GET /", &[], text("text/html", "")).head.contains("Content-Length: 0\r\n"));
}
