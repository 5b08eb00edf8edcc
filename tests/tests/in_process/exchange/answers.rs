//! Tests of generated responses.

use myriad_http::HttpVersion;
use myriad_serve::testing::{TestSite, send_request, send_request_in};

#[test]
fn page_of_an_error_repeats_nothing_of_the_request() {
    let site = TestSite::new("", "");
    let fields = [("Host", "evil.test"), ("Referer", "<script>"), ("User-Agent", "<script>")];
    let reached = send_request(&site, "GET /%3Cscript%3Ealert(1)%3C/script%3E?<script>", &fields);
    assert_eq!(reached.status, 404);
    assert!(!reached.text.contains("script") && !reached.text.contains("evil"), "{}", reached.text);
}

#[test]
fn error_page_elsewhere_is_a_redirect_of_a_kind_that_redirects() {
    for (written, status) in [
        ("", 302),
        ("=", 302),
        ("=200", 302),
        ("=404", 302),
        ("=301", 301),
        ("=303", 303),
        ("=307", 307),
        ("=308", 308),
    ] {
        let site = TestSite::new("", &format!("error_page 404 {written} http://a.test/x;"));
        let reached = send_request(&site, "GET /", &[]);
        assert_eq!((reached.status, reached.location()), (status, Some("http://a.test/x")), "{written}");
    }
}

#[test]
fn error_page_of_variables_stays_one_field() {
    let site = TestSite::new("", "error_page 404 http://a.test$uri;");
    let reached = send_request(&site, "GET /%0d%0aSet-Cookie:%20a=b%0d%0a%0d%0a<html>", &[]);
    assert_eq!(reached.lines, "Location: http://a.test/Set-Cookie: a=b<html>\r\n");
}

#[test]
fn error_page_of_variables_leads_within_where_it_is_a_path() {
    let site = TestSite::new(
        "",
        "error_page 403 /sorry?from=$uri; location = /sorry { return 200 \"$uri $args\"; } location / { return 403; }",
    );
    let reached = send_request(&site, "GET /a%20b?c", &[]);
    assert_eq!((reached.status, &reached.text[..]), (403, "/sorry from=/a b"));
}

#[test]
fn redirect_names_the_host_that_was_asked_for_in_one_spelling() {
    let site = TestSite::new("", "return 301 /x;");
    let led = |host: &str| send_request(&site, "GET /", &[("Host", host)]).location().map(str::to_owned);
    for (host, location) in [
        ("A.Test", "http://a.test:8080/x"),
        ("a.test.", "http://a.test:8080/x"),
        // The port is that of the connection, as in nginx.
        ("a.test:99", "http://a.test:8080/x"),
        ("[2001:DB8::1]:99", "http://[2001:db8::1]:8080/x"),
    ] {
        assert_eq!(led(host).as_deref(), Some(location), "{host}");
    }
    let unnamed = send_request_in(HttpVersion::Http10, &site, "GET /", &[]);
    assert_eq!(
        unnamed.location(),
        Some("http://127.0.0.1:8080/x"),
        "without `Host`, the address of the server is used"
    );
}

#[test]
fn host_that_is_no_name_reaches_no_redirect() {
    // RFC 9112 section 3.2.
    let site = TestSite::new("", "return 301 /x;");
    for host in ["a/b", "a b", "a@b", "a\\b", "<a>", "a:b", "a:99999", "[::1"] {
        let reached = send_request(&site, "GET /", &[("Host", host)]);
        assert_eq!((reached.status, reached.location()), (400, None), "{host:?}");
    }
}

#[test]
fn external_redirect_retains_its_spelling() {
    let site = TestSite::new(
        "",
        "location /a { return 302 //a.test/; } location /b { return 302 x/y; } location /c { return 302 HTTPS://a.test; }",
    );
    let led = |target: &str| {
        send_request(&site, &format!("GET {target}"), &[("Host", "b.test")]).location().map(str::to_owned)
    };
    assert_eq!(led("/b").as_deref(), Some("x/y"), "a relative URL is sent unchanged");
    assert_eq!(led("/c").as_deref(), Some("HTTPS://a.test"));
    assert_eq!(led("/a").as_deref(), Some("http://b.test:8080//a.test/"), "`//` starts a path, as in nginx");
}
