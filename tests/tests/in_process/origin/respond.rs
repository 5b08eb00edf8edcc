//! Tests of the step after a response of an origin.

use myriad_exchange::exchange::{ContentResponse, PhaseStep};
use myriad_http::body::{BoxBody, FullBody};
use myriad_net::ResponseBody;
use myriad_upstream::{OriginResponse, PeerAddress};

use super::support::{OriginTrial, head, text};
use myriad_origin::respond::respond;

const PASS: &str = "proxy_pass http://127.0.0.1:1;";

/// Returns the step after a response of the origin with a body of six bytes.
fn step(trial: &mut OriginTrial, status: u16, fields: &[(&str, &str)]) -> PhaseStep {
    let origin = trial.origin();
    let body: BoxBody = Box::pin(FullBody::new("a body"));
    let peer = PeerAddress::parse("127.0.0.1:1", None).expect("an address");
    let response =
        OriginResponse { head: head(status, fields), body, upgraded: None, peer, sid: None, trailers: None };
    respond(&mut trial.0, &origin, Box::new(response))
}

fn trial(rules: &str, line: &str) -> OriginTrial {
    OriginTrial::of(&format!("location / {{ {PASS} {rules} }}"), line, &[("Content-Length", "3")])
}

fn passed(rules: &str, line: &str, status: u16, fields: &[(&str, &str)]) -> ContentResponse {
    match step(&mut trial(rules, line), status, fields) {
        PhaseStep::Answer(answer) => answer,
        _ => panic!("the response is not passed to the client"),
    }
}

#[test]
fn accelerator_is_led_to_a_path_that_is_decoded_once_and_asked_by_get() {
    let mut trial = trial("", "POST /");
    let step = step(&mut trial, 200, &[("X-Accel-Redirect", "/files/a%2520b%3fc?d=%20")]);
    assert!(matches!(step, PhaseStep::Redirect));
    let request = &trial.0.request;
    assert_eq!(
        (text(&request.route.uri), text(&request.route.args)),
        ("/files/a%20b?c".into(), "d=%20".into())
    );
    assert!(request.route.as_get);
    assert_eq!(request.upload.length, Some(0), "the request body is not sent to the redirect target");
}

#[test]
fn accelerator_is_led_nowhere_by_a_path_that_climbs_or_is_none() {
    for target in [
        "/files/../../etc/passwd",
        "/files/%2e%2e/x",
        "/files/..",
        "/a%00b",
        "files/x",
        "http://a.test/x",
        "",
    ] {
        let mut trial = trial("", "GET /stays");
        let step = step(&mut trial, 200, &[("X-Accel-Redirect", target)]);
        assert!(matches!(step, PhaseStep::Error(404)), "{target}");
        assert_eq!(text(&trial.0.request.route.uri), "/stays", "{target}");
    }
}

#[test]
fn accelerator_may_be_led_to_a_named_location() {
    let step = step(&mut trial("", "GET /"), 200, &[("X-Accel-Redirect", "@files")]);
    assert!(matches!(step, PhaseStep::Named(name) if &*name == b"@files"));
}

#[test]
fn redirect_of_the_accelerator_takes_along_what_describes_the_file_and_no_more() {
    let mut trial = trial("", "GET /");
    let fields = [
        ("X-Accel-Redirect", "/files/x"),
        ("Content-Type", "application/special"),
        ("Content-Disposition", "attachment"),
        ("Cache-Control", "private"),
        ("Expires", "0"),
        ("Set-Cookie", "a=b"),
        ("Set-Cookie", "c=d"),
        ("Content-Length", "6"),
        ("Content-Encoding", "gzip"),
        ("ETag", "\"application\""),
        ("X-Secret", "1"),
    ];
    step(&mut trial, 200, &fields);
    let carried = trial.0.request.errors.carried.take().expect("something");
    assert_eq!(carried.media_type.as_deref(), Some(&b"application/special"[..]));
    let expected = "Content-Disposition: attachment\r\nCache-Control: private\r\nExpires: 0\r\n\
                    Set-Cookie: a=b\r\nSet-Cookie: c=d\r\n";
    assert_eq!(text(&carried.lines), expected);
}

#[test]
fn redirect_of_the_accelerator_is_a_field_where_it_is_not_obeyed() {
    let rules = "proxy_ignore_headers X-Accel-Redirect; proxy_pass_header X-Accel-Redirect;";
    let answer = passed(rules, "GET /", 200, &[("X-Accel-Redirect", "/files/x")]);
    assert_eq!(text(&answer.lines), "X-Accel-Redirect: /files/x\r\n");
}

#[test]
fn intercepted_401_retains_challenges() {
    let rules = "proxy_intercept_errors on; error_page 401 404 /sorry;";
    let fields =
        [("WWW-Authenticate", "Basic realm=\"a\""), ("WWW-Authenticate", "Bearer"), ("X-Secret", "1")];
    let mut refused = trial(rules, "GET /");
    assert!(matches!(step(&mut refused, 401, &fields), PhaseStep::Error(401)));
    // RFC 9110 section 15.5.2: a 401 contains a challenge.
    let lines = refused.0.request.errors.carried.take().expect("challenges").lines;
    assert_eq!(text(&lines), "WWW-Authenticate: Basic realm=\"a\"\r\nWWW-Authenticate: Bearer\r\n");
    let mut missing = trial(rules, "GET /");
    assert!(matches!(step(&mut missing, 404, &fields), PhaseStep::Error(404)));
    assert!(missing.0.request.errors.carried.is_none());
}

#[test]
fn errors_of_the_origin_pass_where_they_have_no_page_here() {
    let intercepts = "proxy_intercept_errors on; error_page 404 /sorry;";
    assert_eq!(passed(intercepts, "GET /", 403, &[]).status, 403);
    assert_eq!(passed("error_page 404 /sorry;", "GET /", 404, &[]).status, 404);
    assert_eq!(passed("proxy_intercept_errors on; error_page 301 /sorry;", "GET /", 200, &[]).status, 200);
}

#[test]
fn answer_to_head_has_the_length_that_get_would_have_and_no_body() {
    // RFC 9110 section 9.3.2.
    let answer = passed("", "HEAD /", 200, &[("Content-Length", "1234")]);
    assert_eq!(answer.known_length(), Some(1234));
    let unknown = passed("", "HEAD /", 200, &[("Content-Length", "+12")]);
    assert_eq!((unknown.known_length(), unknown.unsized_by_origin), (None, true));
}

#[test]
fn response_is_buffered_unless_location_or_origin_disables_it() {
    // A response that is complete at read-ahead is in memory.
    let ahead = |rules: &str, fields: &[(&str, &str)]| {
        matches!(passed(rules, "GET /", 200, fields).body, ResponseBody::Full(_))
    };
    let (no, yes) = ([("X-Accel-Buffering", "No")], [("X-Accel-Buffering", "yes")]);
    assert!(ahead("", &[]) && !ahead("proxy_buffering off;", &[]));
    assert!(!ahead("", &no) && ahead("proxy_buffering off;", &yes));
    let ignored = "proxy_ignore_headers X-Accel-Buffering;";
    assert!(ahead(ignored, &no) && !ahead(&format!("{ignored} proxy_buffering off;"), &yes));
    assert!(ahead("", &[("X-Accel-Buffering", "maybe")]));
}

#[test]
fn parts_are_cut_here_where_they_are_forced_and_the_length_is_known() {
    let rules = "proxy_force_ranges on;";
    let fields = [("Content-Length", "6"), ("Accept-Ranges", "none"), ("X-Kept", "1")];
    let forced = passed(rules, "GET /", 200, &fields);
    assert_eq!((forced.ranges, text(&forced.lines)), (true, "X-Kept: 1\r\n".into()));
    assert!(!passed(rules, "GET /", 200, &fields[1..]).ranges, "the length is unknown");
    assert!(!passed(rules, "GET /", 206, &fields).ranges, "the response is a range already");
    assert!(!passed("", "GET /", 200, &fields).ranges);
}
