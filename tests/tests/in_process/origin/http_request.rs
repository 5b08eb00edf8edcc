//! Tests of requests to HTTP origins.

use super::support::{OriginTrial, bytes, stream};
use myriad_exchange::exchange::FetchPurpose;
use myriad_http::{HttpVersion, Method};
use myriad_upstream::{Protocol, RequestPayload};

const PASS: &str = "proxy_pass http://127.0.0.1:1;";

/// Returns a request to an HTTP origin whose location has these additional directives.
fn trial(rules: &str, line: &str, fields: &[(&str, &str)]) -> OriginTrial {
    OriginTrial::of(&format!("location / {{ {PASS} {rules} }}"), line, fields)
}

#[test]
fn fields_of_the_clients_own_connection_stay_here() {
    // RFC 9110 section 7.6.1, including its rules for unregistered fields.
    let fields = [
        ("Connection", "keep-alive"),
        ("Keep-Alive", "timeout=5"),
        ("Proxy-Connection", "keep-alive"),
        ("TE", "trailers"),
        ("Expect", "100-continue"),
        ("Upgrade", "h2c"),
        ("X-Kept", "1"),
    ];
    let head = trial("", "GET /", &fields).sent_head(RequestPayload::Empty);
    assert_eq!(head.fields, "Host: 127.0.0.1:1\r\nX-Kept: 1\r\n");
}

#[test]
fn connection_takes_away_no_field_that_the_configuration_writes() {
    let fields = [
        ("Connection", "close, X-Real-IP , host"),
        ("Connection", "content-length,x-own"),
        ("X-Real-IP", "192.0.2.1"),
        ("X-Own", "mine"),
    ];
    let rules = "proxy_set_header X-Real-IP $remote_addr; proxy_set_header Host $host;";
    let head = trial(rules, "POST /", &fields).sent_head(bytes("four"));
    assert_eq!(head.all("X-Real-IP"), ["127.0.0.1"]);
    assert_eq!(head.all("Host"), ["visited.test"]);
    assert_eq!(head.all("Content-Length"), ["4"]);
    assert!(head.all("X-Own").is_empty(), "a hop-by-hop field is not forwarded (RFC 9110 section 7.6.1)");
}

#[test]
fn written_field_takes_the_place_of_all_of_the_clients_in_any_case() {
    let fields = [("x-role", "admin"), ("X-ROLE", "root"), ("X-Roles", "kept")];
    let head = trial("proxy_set_header X-Role visitor;", "GET /", &fields).sent_head(RequestPayload::Empty);
    assert_eq!((head.all("X-Role"), head.all("X-Roles")), (vec!["visitor"], vec!["kept"]));
    let head = trial("proxy_set_header X-Role $arg_none;", "GET /", &fields).sent_head(RequestPayload::Empty);
    assert!(head.all("X-Role").is_empty(), "an empty value passes nothing, as nginx's manual says");
}

#[test]
fn single_content_length_matches_body() {
    let announced = [("Content-Length", "100"), ("Content-Length", "7"), ("Transfer-Encoding", "chunked")];
    let written = "proxy_set_header Content-Length 99; proxy_set_header Transfer-Encoding gzip;";
    for rules in ["", written] {
        for (payload, length) in [(bytes("abc"), "3"), (stream(Some(12)), "12"), (RequestPayload::Empty, "0")]
        {
            let head = trial(rules, "POST /", &announced).sent_head(payload);
            assert_eq!(
                (head.all("Content-Length"), head.all("Transfer-Encoding")),
                (vec![length], vec![]),
                "{rules}"
            );
        }
    }
}

#[test]
fn body_of_unknown_length_is_chunked_without_content_length() {
    // RFC 9112 section 6.2: never both.
    let fields = [("Content-Length", "3")];
    let rules = "proxy_set_header Content-Length 3;";
    for rules in ["", rules] {
        let head = trial(rules, "POST /", &fields).sent_head(stream(None));
        assert_eq!((head.all("Content-Length"), head.all("Transfer-Encoding")), (vec![], vec!["chunked"]));
    }
}

#[test]
fn bodiless_request_has_content_length_only_from_client() {
    let lengths = |rules: &str, line: &str, fields: &[(&str, &str)]| {
        let head = trial(rules, line, fields).sent_head(RequestPayload::Empty);
        head.all("Content-Length").join(",")
    };
    assert_eq!(lengths("", "GET /", &[]), "");
    assert_eq!(lengths("", "POST /", &[("Content-Length", "0")]), "0");
    assert_eq!(lengths("proxy_set_header Content-Length \"\";", "POST /", &[("Content-Length", "0")]), "");
}

#[test]
fn written_body_has_its_own_length() {
    let mut trial = trial("proxy_set_body \"a=$arg_a\";", "POST /?a=12", &[("Content-Length", "100")]);
    assert_eq!(trial.sent_head(bytes("the client's")).all("Content-Length"), ["4"]);
    let request = trial.build_request(bytes("the client's")).expect("a request");
    assert!(matches!(request.body, RequestPayload::Bytes(body) if body == "a=12"));
}

#[test]
fn no_written_value_ends_its_line() {
    let rules = "proxy_set_header X-Path $uri; proxy_set_header Host \"a$uri\"; \
                 proxy_set_header Upgrade \"websocket$uri\"; proxy_set_header Connection upgrade;";
    let head = trial(rules, "GET /%0d%0aX-Evil:%20yes%0d%0a%0d%0aGET", &[]).sent_head(RequestPayload::Empty);
    assert!(head.all("X-Evil").is_empty());
    assert_eq!(head.all("X-Path"), ["/  X-Evil: yes    GET"]);
    assert_eq!(head.all("Host"), ["a/  X-Evil: yes    GET"]);
}

#[test]
fn written_method_stays_one_word() {
    let line = |rules: &str, target: &str| trial(rules, &format!("POST {target}"), &[]).line();
    let rules = "set $method $uri; rewrite ^ /x break; proxy_method $method;";
    assert_eq!(line(rules, "/%20HTTP/1.1%0d%0aX:%201"), "/HTTP/1.1X:1 /x HTTP/1.1");
    assert_eq!(line("proxy_method $arg_none;", "/"), "POST / HTTP/1.1", "an empty method is ignored");
}

#[test]
fn request_of_http_1_1_always_names_a_host() {
    // RFC 9112 section 3.2.
    let hosts =
        |rules: &str| trial(rules, "GET /", &[]).sent_head(RequestPayload::Empty).all("Host").join("|");
    assert_eq!(hosts("proxy_set_header Host $arg_none;"), "127.0.0.1:1");
    assert_eq!(hosts("proxy_http_version 1.0; proxy_set_header Host $arg_none;"), "");
    assert_eq!(hosts("proxy_http_version 1.0;"), "127.0.0.1:1");
}

#[test]
fn connection_persistence_follows_configuration() {
    let keeps_alive = |rules: &str| {
        trial(rules, "GET /", &[("Connection", "close")]).sent_head(RequestPayload::Empty).keep_alive
    };
    assert!(keeps_alive(""));
    assert!(!keeps_alive("proxy_set_header Connection \"X-A, Close\";"));
    assert!(!keeps_alive("proxy_http_version 1.0;"));
    assert!(keeps_alive("proxy_http_version 1.0; proxy_set_header Connection keep-alive;"));
}

#[test]
fn protocol_is_switched_only_for_a_client_that_can_switch() {
    let rules = "proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;";
    let asked = |version, rules: &str, fields: &[(&str, &str)]| {
        let server = format!("http2 on; location / {{ {PASS} {rules} }}");
        let head =
            OriginTrial::of_version(version, &server, "GET /", fields).sent_head(RequestPayload::Empty);
        (String::from_utf8(head.upgrade.to_vec()).unwrap(), head.all("Upgrade").join("|"))
    };
    let upgrade_pair = |switch: &str, field: &str| (switch.to_owned(), field.to_owned());
    let fields = [("Connection", "upgrade"), ("Upgrade", "h2c, websocket")];
    assert_eq!(asked(HttpVersion::Http11, rules, &fields), upgrade_pair("websocket", "websocket"));
    // RFC 9110 section 7.8: a server ignores `Upgrade` of HTTP/1.0; HTTP/2 has none.
    assert_eq!(asked(HttpVersion::Http10, rules, &fields).0, "");
    assert_eq!(asked(HttpVersion::Http2, rules, &fields).0, "");
    assert_eq!(asked(HttpVersion::Http11, rules, &[]), upgrade_pair("", ""));
    let without_connection = "proxy_set_header Upgrade $http_upgrade;";
    assert_eq!(asked(HttpVersion::Http11, without_connection, &fields).0, "");
    let unasked = "proxy_set_header Upgrade websocket; proxy_set_header Connection upgrade;";
    assert_eq!(
        asked(HttpVersion::Http11, unasked, &[]),
        upgrade_pair("", "websocket"),
        "the client requested no upgrade"
    );
}

#[test]
fn page_to_be_stored_is_asked_for_whole_and_on_no_condition() {
    let fields = [
        ("Range", "bytes=0-1"),
        ("If-Range", "\"a\""),
        ("If-None-Match", "\"a\""),
        ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("If-Match", "\"a\""),
        ("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("Accept-Encoding", "br"),
        ("X-Kept", "1"),
    ];
    let mut trial = trial("", "GET /", &fields);
    let request = trial.build_request_for(
        FetchPurpose::Store { confirms: None, replacement_fields: None },
        RequestPayload::Empty,
    );
    let Ok(Protocol::Http { head, .. }) = request.map(|request| request.protocol) else {
        panic!("no request")
    };
    assert_eq!(&head[..], b"GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\nX-Kept: 1\r\n\r\n");
    assert_eq!(
        trial.sent_head(RequestPayload::Empty).all("Range"),
        ["bytes=0-1"],
        "a request that is not cached keeps `Range`"
    );
}

#[test]
fn error_page_is_requested_with_get() {
    let server = format!(
        "error_page 404 /sorry; location = /sorry {{ {PASS} proxy_method PURGE; }} location / {{ return 404; }}"
    );
    let mut trial = OriginTrial::of(&server, "DELETE /x", &[]);
    assert_eq!(trial.line(), "GET /sorry HTTP/1.1");
    assert_eq!(trial.build_request(RequestPayload::Empty).expect("a request").method, Method::Get);
}

#[test]
fn nothing_of_the_client_goes_where_its_fields_are_not_passed() {
    let rules = "proxy_pass_request_headers off; proxy_set_header X-Written 1;";
    let fields = [("Cookie", "a=b"), ("Authorization", "Basic eA=="), ("X-Own", "1")];
    let head = trial(rules, "GET /", &fields).sent_head(RequestPayload::Empty);
    assert_eq!(head.fields, "Host: 127.0.0.1:1\r\nX-Written: 1\r\n");
}
