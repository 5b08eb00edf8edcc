//! Tests of requests of the CGI protocols.

use super::support::{OriginTrial, bytes, stream};
use myriad_exchange::exchange::FetchPurpose;
use myriad_exchange::runtime::MakeError;
use myriad_http::Method;
use myriad_upstream::{Protocol, RequestPayload};

/// Returns a request to a FastCGI origin whose location has these additional directives.
fn trial(rules: &str, line: &str, fields: &[(&str, &str)]) -> OriginTrial {
    OriginTrial::of(&format!("location / {{ fastcgi_pass 127.0.0.1:1; {rules} }}"), line, fields)
}

/// Returns the environment without `HTTP_HOST`.
fn sent_environment(rules: &str, line: &str, fields: &[(&str, &str)]) -> Vec<String> {
    let mut environment = trial(rules, line, fields).environment();
    environment.retain(|pair| pair != "HTTP_HOST=visited.test");
    environment
}

/// Returns the head that an SCGI or uwsgi origin receives.
fn framed(
    rules: &str,
    target: &str,
    fields: &[(&str, &str)],
    payload: RequestPayload,
) -> Result<Vec<u8>, MakeError> {
    let server = format!("location / {{ {rules} }}");
    let request = OriginTrial::of(&server, &format!("POST {target}"), fields).build_request(payload)?;
    let Protocol::Cgi { head } = request.protocol else { panic!("the protocol has no environment") };
    Ok(head.to_vec())
}

#[test]
fn no_field_of_a_client_poses_as_a_parameter() {
    let rules = "fastcgi_param HTTP_X_USER $arg_user; fastcgi_param HTTP_X_GONE \"\" if_not_empty;";
    let fields = [("X-User", "root"), ("x-user", "root"), ("X_User", "root"), ("X-GONE", "1")];
    assert_eq!(sent_environment(rules, "GET /?user=guest", &fields), ["HTTP_X_USER=guest"]);
    assert_eq!(
        sent_environment(rules, "GET /", &fields),
        ["HTTP_X_USER="],
        "an empty parameter also replaces the field"
    );
}

#[test]
fn proxy_field_of_client_is_never_passed() {
    // CVE-2016-5385: libraries use the proxy in `HTTP_PROXY`.
    let fields = [("Proxy", "http://evil.test"), ("PROXY", "x"), ("proxy", "y"), ("Proxy-X", "kept")];
    assert_eq!(sent_environment("", "GET /", &fields), ["HTTP_PROXY_X=kept"]);
    assert_eq!(
        sent_environment("fastcgi_param HTTP_PROXY written;", "GET /", &fields)[0],
        "HTTP_PROXY=written"
    );
}

#[test]
fn body_length_and_type_are_passed_without_transfer_encoding() {
    let fields = [("Content-Length", "7"), ("Content-Type", "text/plain"), ("Transfer-Encoding", "chunked")];
    assert_eq!(
        sent_environment("", "POST /", &fields),
        ["HTTP_CONTENT_LENGTH=7", "HTTP_CONTENT_TYPE=text/plain"]
    );
    let written = "fastcgi_param HTTP_CONTENT_LENGTH \"\" if_not_empty;";
    assert_eq!(sent_environment(written, "POST /", &fields), ["HTTP_CONTENT_TYPE=text/plain"]);
}

#[test]
fn repeated_fields_are_joined_into_one_parameter() {
    let fields = [
        ("X-Forwarded-For", "192.0.2.1"),
        ("Accept", "text/html"),
        ("X-Custom", "1"),
        ("x-custom", "2"),
        ("X_Custom", "3"),
        ("X-Other", "4"),
        ("Accept", "text/plain"),
        ("X-Forwarded-For", "192.0.2.2"),
    ];
    let mut environment = sent_environment("", "GET /", &fields);
    environment.sort();
    let expected = [
        "HTTP_ACCEPT=text/html, text/plain",
        "HTTP_X_CUSTOM=1, 2, 3",
        "HTTP_X_FORWARDED_FOR=192.0.2.1, 192.0.2.2",
        "HTTP_X_OTHER=4",
    ];
    assert_eq!(environment, expected, "RFC 9110 section 5.3");
}

#[test]
fn cookies_of_several_fields_are_joined_as_cookies() {
    // RFC 9113 section 8.2.3: a comma would be part of a value.
    let fields = [("Cookie", "a=1"), ("Cookie", "b=2; c=3")];
    assert_eq!(sent_environment("", "GET /", &fields), ["HTTP_COOKIE=a=1; b=2; c=3"]);
}

#[test]
fn value_with_line_ends_stays_one_pair() {
    let rules = "fastcgi_param PATH $uri; fastcgi_param LAST 1;";
    let environment = sent_environment(rules, "GET /a%0d%0aREMOTE_USER=root%0a", &[]);
    assert_eq!(environment, ["PATH=/a\r\nREMOTE_USER=root\n", "LAST=1"]);
}

#[test]
fn parameters_stand_in_their_order_and_the_empty_ones_as_written() {
    let rules = "fastcgi_param A $arg_a; fastcgi_param B $arg_b if_not_empty; fastcgi_param C \"\"; \
                 fastcgi_param D \"\" if_not_empty; fastcgi_param A again;";
    assert_eq!(sent_environment(rules, "GET /?b=2", &[]), ["A=", "B=2", "C=", "A=again"]);
    assert_eq!(sent_environment(rules, "GET /?a=1", &[]), ["A=1", "C=", "A=again"]);
}

#[test]
fn fetch_for_cache_omits_range_conditions_and_encodings() {
    let fields = [
        ("Range", "bytes=0-1"),
        ("If-None-Match", "\"a\""),
        ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("Accept-Encoding", "br"),
        ("X-Kept", "1"),
    ];
    let store = FetchPurpose::Store { confirms: None, replacement_fields: None };
    let request =
        trial("", "HEAD /", &fields).build_request_for(store, RequestPayload::Empty).expect("a request");
    let Protocol::FastCgi { params, .. } = request.protocol else { panic!("no FastCGI") };
    let names: Vec<_> = myriad_upstream::fastcgi_protocol::params::pairs(&params)
        .map(|(name, _)| name.escape_ascii().to_string())
        .collect();
    assert_eq!(names, ["HTTP_X_KEPT", "HTTP_HOST"]);
    assert_eq!(request.method, Method::Get, "the answer to HEAD has no body to be stored");
}

#[test]
fn script_is_the_uri_up_to_where_the_pattern_parts_it() {
    let rules = "location ~ ^/(app)(.*)$ { fastcgi_pass 127.0.0.1:1; fastcgi_index index.php; \
                 fastcgi_split_path_info ^(.+?\\.php)(/.*)$; \
                 fastcgi_param S $fastcgi_script_name; fastcgi_param P $fastcgi_path_info; fastcgi_param ONE $1; }";
    for (target, script, path) in [
        ("/app/a.php/b/c.php/d", "/app/a.php", "/b/c.php/d"),
        ("/app/a.php", "/app/a.php", ""),
        ("/app/", "/app/index.php", ""),
        ("/app/a.php/", "/app/a.php", "/"),
        ("/app/a%2ephp%2fb", "/app/a.php", "/b"),
    ] {
        let mut environment = OriginTrial::of(rules, &format!("GET {target}"), &[]).environment();
        environment.truncate(3);
        // The location's captures are not overwritten by those of the pattern.
        assert_eq!(
            environment,
            [format!("S={script}"), format!("P={path}"), "ONE=app".to_owned()],
            "{target}"
        );
    }
    // Another location splits the same URI differently.
    let other = rules.replace("^(.+?\\.php)(/.*)$", "^(/app)(/.*)$");
    let environment = OriginTrial::of(&other, "GET /app/a%2ephp%2fb", &[]).environment();
    assert_eq!(environment[..2], ["S=/app", "P=/a.php/b"]);
}

#[test]
fn error_text_spoils_an_answer_where_it_holds_a_word_that_is_caught() {
    let trial = trial("fastcgi_catch_stderr \"PHP Fatal\"; fastcgi_catch_stderr oops;", "GET /", &[]);
    let protocol = &trial.origin().protocol;
    assert!(protocol.invalidates(b"x PHP Fatal error\n") && protocol.invalidates(b"oops"));
    assert!(
        !protocol.invalidates(b"PHP fatal") && !protocol.invalidates(b"oop") && !protocol.invalidates(b"")
    );
}

#[test]
fn scgi_content_length_is_actual_body_length() {
    let rules = "scgi_pass 127.0.0.1:1; scgi_param CONTENT_LENGTH 99; scgi_param SCGI 2; scgi_param A $uri;";
    let fields = [("Content-Length", "100"), ("SCGI", "3")];
    for (payload, length) in [(bytes("four"), 4), (stream(Some(12)), 12), (RequestPayload::Empty, 0)] {
        let head = framed(rules, "/a%0ab", &fields, payload).expect("a head");
        let pairs = format!(
            "CONTENT_LENGTH\0{length}\0SCGI\x001\0A\0/a\nb\0HTTP_CONTENT_LENGTH\0100\0HTTP_SCGI\x003\0HTTP_HOST\0visited.test\0"
        );
        assert_eq!(head, format!("{}:{pairs},", pairs.len()).as_bytes());
    }
}

#[test]
fn body_of_unknown_length_is_buffered_if_protocol_needs_length() {
    let body = myriad_net::RequestBody::from_feed(&myriad_net::multiplex::BodyFeed::new(None, false));
    let known = myriad_net::RequestBody::from_feed(&myriad_net::multiplex::BodyFeed::new(Some(3), false));
    for (pass, streams) in [
        ("scgi_pass 127.0.0.1:1;", false),
        ("uwsgi_pass 127.0.0.1:1;", false),
        ("proxy_pass http://127.0.0.1:1;", true),
    ] {
        let prefix = pass.split('_').next().expect("a prefix");
        let server = format!("location / {{ {pass} {prefix}_request_buffering off; }}");
        let origin = OriginTrial::of(&server, "POST /", &[]).origin();
        assert_eq!(origin.streams(&body), streams, "{pass}");
        assert!(origin.streams(&known), "{pass}");
    }
}

#[test]
fn uwsgi_packet_bears_the_modifiers_of_its_place_and_its_size() {
    let rules = "uwsgi_pass 127.0.0.1:1; uwsgi_modifier1 5; uwsgi_modifier2 7; uwsgi_param A b;";
    let head = framed(rules, "/", &[], RequestPayload::Empty).expect("a head");
    let pairs = b"\x01\0A\x01\0b\x09\0HTTP_HOST\x0c\0visited.test";
    assert_eq!(head, [&[5, pairs.len() as u8, 0, 7], &pairs[..]].concat());
}

#[test]
fn uwsgi_request_that_no_packet_can_hold_is_not_cut_short() {
    let field = "x".repeat(40_000);
    let fields = [("X-A", &field[..]), ("X-B", &field[..])];
    let rules = "uwsgi_pass 127.0.0.1:1;";
    let made = framed(rules, "/", &fields, RequestPayload::Empty);
    assert!(matches!(&made, Err(MakeError::Size(why)) if why.contains("65535")), "{made:?}");
    assert!(framed(rules, "/", &fields[..1], RequestPayload::Empty).is_ok());
}
