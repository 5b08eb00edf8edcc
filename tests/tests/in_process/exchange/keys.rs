//! Tests of cache keys.

use myriad_serve::testing::{TestSite, immediate_answer};

/// Returns the cache key of the page of a request, with the cache directives `rules`.
fn key(rules: &str, target: &str, fields: &[(&str, &str)]) -> Vec<u8> {
    let server = format!("location / {{ proxy_pass http://127.0.0.1:1; proxy_cache z; {rules} }}");
    let site = TestSite::new("proxy_cache_path /nowhere/cache keys_zone=z:1m;", &server);
    let mut exchange = site.received_request(myriad_http::HttpVersion::Http11, ("GET", target), fields);
    // The fetch is a spawned task, which never runs here.
    let tasks = tokio::task::LocalSet::new();
    let _spawned_there = tasks.enter();
    assert!(immediate_answer(&mut exchange).is_none(), "{target} was answered without an origin");
    std::mem::take(&mut exchange.request.cache.key)
}

const WRITTEN: &str = "proxy_cache_key $host$uri;";

#[test]
fn cache_key_is_evaluated_byte_for_byte() {
    assert_eq!(key(WRITTEN, "/a%20b?c", &[("Host", "a.test")]), b"a.test/a b");
    assert_eq!(key("proxy_cache_key $request_uri;", "/a%20b?c", &[("Host", "localhost")])[..8], *b"/a%20b?c");
}

#[test]
fn host_in_any_spelling_is_one_page_and_its_port_another() {
    let of = |host: &str| key(WRITTEN, "/", &[("Host", host)]);
    assert_eq!(of("A.TEST"), of("a.test"));
    // Applications generate links with the port that they receive.
    assert_ne!(of("a.test:8080"), of("a.test"));
    assert_ne!(of("a.test:8080"), of("a.test:8081"));
    assert!(of("a.test:8080").starts_with(b"a.test/\0"), "the key of nginx, followed by a further part");
}

#[test]
fn bytes_of_a_visitor_pose_as_no_part_of_a_key() {
    let rules = "proxy_cache_key $host$remote_user;";
    // User name `\0host=a.test:1`: the value is the base64 form of it and `:x`.
    let posed = key(rules, "/", &[("Host", "a.test"), ("Authorization", "Basic AGhvc3Q9YS50ZXN0OjE6eA==")]);
    assert_eq!(posed, b"a.test\0\0host=a.test");
    assert_eq!(key(rules, "/", &[("Host", "a.test:1")]), b"a.test\0host=a.test:1");
}
