use myriad_http::{HttpVersion, ParseError};
use myriad_net::service::Rejection;

use crate::phases::reject;
use crate::testing::TestSite;
use crate::testing::{run_exchange_from, send_request, send_request_in};

const A_TEST: &str = "server { listen 127.0.0.1:8080; server_name a.test; return 200 a; }";

#[test]
fn host_chooses_the_server_and_the_first_is_the_default() {
    let site = TestSite::new(A_TEST, "server_name b.test *.c.test; return 200 b;");
    for (host, server) in [
        ("a.test", "a"),
        ("b.test", "b"),
        ("B.Test:99", "b"),
        ("x.y.c.test", "b"),
        ("c.test", "a"),
        ("d.test", "a"),
    ] {
        assert_eq!(send_request(&site, "GET /", &[("Host", host)]).text, server, "{host}");
    }
}

#[test]
fn server_of_the_empty_name_gets_requests_without_host() {
    let site = TestSite::new(A_TEST, "server_name b.test ''; return 200 b:$host;");
    assert_eq!(send_request(&site, "GET /", &[]).text, "b:b.test");
    assert_eq!(send_request(&site, "GET /", &[("Host", "d.test")]).text, "a");
}

#[test]
fn absolute_target_goes_before_the_host_field() {
    let site = TestSite::new(A_TEST, "server_name b.test; return 200 $http_host$uri;");
    assert_eq!(send_request(&site, "GET http://b.test/x", &[("Host", "a.test")]).text, "b.test/x");
}

#[test]
fn trace_and_connect_are_refused_before_any_rule() {
    let site = TestSite::new("", "return 200 reached;");
    for line in ["TRACE /", "CONNECT a.test:443"] {
        let reached = send_request(&site, line, &[("Host", "a.test")]);
        assert_eq!((reached.status, reached.close), (405, true), "{line}");
    }
}

#[test]
fn request_that_makes_no_sense_is_refused_and_ends_the_connection() {
    let site = TestSite::new("", "return 200 reached;");
    for (line, host) in
        [("GET /../x", "a.test"), ("GET /%2", "a.test"), ("GET /%00", "a.test"), ("GET /", "a/b")]
    {
        let reached = send_request(&site, line, &[("Host", host)]);
        assert_eq!((reached.status, reached.close), (400, true), "{line} of {host}");
    }
}

#[test]
fn request_that_was_not_read_is_answered_by_the_default_server() {
    let site = TestSite::new("", "error_page 408 414 /sorry; location = /sorry { return 200 sorry; }");
    let rejected = |why: Rejection| {
        let exchange = site.received_request(HttpVersion::Http11, ("GET", "/"), &[]);
        let reached = run_exchange_from(exchange, |exchange| reject(exchange, &why));
        (reached.status, reached.text)
    };
    assert_eq!(rejected(Rejection::TimedOut), (408, "sorry".to_owned()));
    assert_eq!(rejected(Rejection::Malformed(ParseError::RequestLineTooLong)), (414, "sorry".to_owned()));
    assert_eq!(rejected(Rejection::Malformed(ParseError::InvalidTarget)).0, 400);
}

#[test]
fn options_asterisk_skips_server_rules() {
    let site = TestSite::new("", "return 403;");
    let reached = send_request(&site, "OPTIONS *", &[("Host", "a.test")]);
    assert_eq!((reached.status, reached.text.as_str()), (200, ""));
    assert!(reached.lines.starts_with("Allow: "), "{}", reached.lines);
    assert_eq!(send_request(&site, "OPTIONS /", &[("Host", "a.test")]).status, 403);
}

#[test]
fn slashes_are_merged_unless_disabled_by_server() {
    let rules = "location = /a/b { return 200 merged; } location / { return 200 $uri; }";
    assert_eq!(send_request(&TestSite::new("", rules), "GET /a//b", &[]).text, "merged");
    assert_eq!(
        send_request(&TestSite::new("", &format!("merge_slashes off; {rules}")), "GET /a//b", &[]).text,
        "/a//b"
    );
}

#[cfg(feature = "http3")]
#[test]
fn version_that_the_server_does_not_speak_is_misdirected() {
    let mute = TestSite::new("", "return 200 reached;");
    let reached = send_request_in(HttpVersion::Http2, &mute, "GET /", &[("Host", "a.test")]);
    assert_eq!((reached.status, reached.close), (421, true));
    let site = TestSite::new("", "http2 on; return 200 reached;");
    assert_eq!(send_request_in(HttpVersion::Http2, &site, "GET /", &[("Host", "a.test")]).text, "reached");
    assert_eq!(send_request_in(HttpVersion::Http3, &site, "GET /", &[("Host", "a.test")]).text, "reached");
    let site = TestSite::new("", "http3 off; return 200 reached;");
    assert_eq!(send_request_in(HttpVersion::Http3, &site, "GET /", &[("Host", "a.test")]).status, 421);
}

#[test]
fn arguments_and_escapes_are_separated_from_path() {
    let site = TestSite::new("", "return 200 $uri|$args|$request_uri;");
    let reached = send_request(&site, "GET /a%20b/./c?d=%20e", &[]);
    assert_eq!(reached.text, "/a b/c|d=%20e|/a%20b/./c?d=%20e");
    assert!(reached.exchange.request.route.form.escaped);
}
