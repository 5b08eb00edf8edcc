//! Tests of the request target that an HTTP origin receives.

use super::support::OriginTrial;

/// Returns the URI of the origin request, after the method.
fn asked(server: &str, target: &str) -> String {
    let line = OriginTrial::of(server, &format!("GET {target}"), &[]).line();
    let words: Vec<&str> = line.split(' ').collect();
    assert!(matches!(words[..], ["GET", _, "HTTP/1.1"]), "three words: {line:?}");
    words[1].to_owned()
}

const UNDER: &str = "location /api/ { proxy_pass http://127.0.0.1:1/v1/; }";

#[test]
fn decoded_reserved_bytes_are_re_escaped() {
    for (target, uri) in [
        ("/api/a%3Fb", "/v1/a%3Fb"),
        ("/api/a%23b", "/v1/a%23b"),
        ("/api/100%25", "/v1/100%25"),
        ("/api/%2541", "/v1/%2541"),
        ("/api/a%0d%0ab%7f", "/v1/a%0D%0Ab%7F"),
        ("/api/%c3%a4", "/v1/%C3%A4"),
        ("/api/a%5Cb", "/v1/a%5Cb"),
        ("/api/a%41b", "/v1/aAb"),
        ("/api/a?b=%20&c=%", "/v1/a?b=%20&c=%"),
    ] {
        assert_eq!(asked(UNDER, target), uri, "{target}");
    }
}

#[test]
fn dot_segments_lead_out_of_no_path_that_an_origin_is_asked_under() {
    let server = format!("{UNDER} location / {{ proxy_pass http://127.0.0.1:1/public/; }}");
    for target in
        ["/api/../admin", "/api/%2e%2e/admin", "/api/..%2fadmin", "/api/x/%2E./../admin", "/api/.//../admin"]
    {
        assert_eq!(asked(&server, target), "/public/admin", "{target}");
    }
    assert_eq!(asked(&server, "/api/./a/b/../c"), "/v1/a/c");
    assert_eq!(asked(&server, "/api/..a/.../b.."), "/v1/..a/.../b..");
}

#[test]
fn uri_goes_to_the_letter_where_the_url_has_no_path_and_no_rule_changed_it() {
    let server = "location /keep { proxy_pass http://127.0.0.1:1; } \
                  location /changed { rewrite ^/changed(.*)$ /to$1 break; proxy_pass http://127.0.0.1:1; }";
    assert_eq!(asked(server, "/keep%2F/./x%3f?a=%0a"), "/keep%2F/./x%3f?a=%0a");
    assert_eq!(asked(server, "/changed/%3f/./x?a"), "/to/%3F/x?a");
}

#[test]
fn absolute_target_is_asked_for_by_its_path() {
    // RFC 9112 section 3.2.2: the absolute form is for the proxy; the origin receives the path.
    let server = "location / { proxy_pass http://127.0.0.1:1; }";
    assert_eq!(asked(server, "http://visited.test/a%2Fb?c"), "/a%2Fb?c");
    assert_eq!(asked(server, "http://visited.test"), "/");
}

#[test]
fn url_of_variables_is_the_whole_uri() {
    let server = "location /go/ { proxy_pass http://127.0.0.1:1$uri-x?y=$arg_y; }";
    assert_eq!(asked(server, "/go/a%20b%0d?y=%20z"), "/go/a%20b%0D-x?y=%20z");
    let without_path = "location /go/ { set $at 127.0.0.1:1; proxy_pass http://$at; }";
    assert_eq!(asked(without_path, "/go/a%2Fb?c"), "/go/a%2Fb?c");
}

#[test]
fn url_of_variables_that_names_no_host_is_a_failure_of_the_server() {
    for (url, target) in [
        ("http://$arg_host/", "/"),
        ("http://$arg_host/", "/?host=a%20b:x"),
        ("$arg_url", "/?url=file:///etc/passwd"),
        ("http://127.0.0.1:$arg_port/", "/?port=70000"),
    ] {
        let site = myriad_serve::testing::TestSite::new("", &format!("location / {{ proxy_pass {url}; }}"));
        let reached = myriad_serve::testing::send_request(&site, &format!("GET {target}"), &[]);
        assert_eq!(reached.status, 500, "{url} {target}");
    }
}

#[test]
fn log_shows_an_origin_with_its_uri_and_a_bounded_length() {
    let shown = |server: &str, target: &str, peer: &str| {
        let trial = OriginTrial::of(server, &format!("GET {target}"), &[]);
        trial.origin().protocol.show(&trial.0.request, peer)
    };
    assert_eq!(shown(UNDER, "/api/a%20b?c", "127.0.0.1:1"), "http://127.0.0.1:1/v1/a%20b?c");
    let socket = "location / { proxy_pass http://unix:/run/app.sock:/in/; }";
    // Same form as in nginx.
    assert_eq!(shown(socket, "/x", "unix:/run/app.sock"), "http://unix:/run/app.sock:/in/x");
    let long = format!("/api/{}", "a".repeat(5000));
    assert!(shown(UNDER, &long, "127.0.0.1:1").len() < 2100);
}
