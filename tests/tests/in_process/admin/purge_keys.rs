//! Tests of cache keys as directives define them.

use std::sync::Arc;

use super::support::ZONE;
use myriad_exchange::keys::page_key::of;
use myriad_exchange::runtime::CachePlace;
use myriad_serve::testing::TestSite;
use myriad_store::page::key::named;

/// Returns the cache key of a request at a location with these rules.
fn key(rules: &str, target: &str, fields: &[(&str, &str)]) -> String {
    let cached = format!("location / {{ proxy_pass http://127.0.0.1:1; proxy_cache z; {rules} }}");
    let site = TestSite::new(ZONE, &cached);
    let mut exchange = site.exchange(target, fields);
    let place = exchange.request.place();
    let cache: Arc<CachePlace> =
        Arc::clone(place.handler.origin().expect("an origin").cache.fixed().expect("a cache"));
    String::from_utf8(of(&mut exchange, &cache).expect("a key")).expect("text")
}

#[test]
fn key_is_what_the_directive_comes_to() {
    assert_eq!(key("proxy_cache_key $uri|$arg_b;", "/a?b=c", &[("Host", "localhost")]), "/a|c");
}

#[test]
fn host_with_port_has_separate_cache_key() {
    let rules = "proxy_cache_key $host$uri;";
    assert_eq!(key(rules, "/a", &[("Host", "localhost")]), "localhost/a");
    assert_eq!(key(rules, "/a", &[("Host", "localhost:99")]), "localhost/a\0host=localhost:99");
    assert_eq!(key("proxy_cache_key $http_host$uri;", "/a", &[("Host", "localhost:99")]), "localhost:99/a");
}

#[test]
fn key_fields_and_cookies_are_appended_to_key_if_sent() {
    let rules = "proxy_cache_key $host$uri; cache_key_cookie lang; cache_key_field X-Device;";
    let host = ("Host", "localhost");
    assert_eq!(key(rules, "/a", &[host]), "localhost/a");
    let sent = key(rules, "/a", &[host, ("Cookie", "x=y; lang=de"), ("X-Device", "tv")]);
    assert!(
        sent.contains("\0cookie=lang=de") && sent.to_lowercase().contains("\0field=x-device=tv"),
        "{sent:?}"
    );
    assert!(!sent.contains("x=y"), "{sent:?}");
}

#[test]
fn nul_of_a_text_is_doubled() {
    assert_eq!(named(b"a\0b\0".to_vec()), b"a\0\0b\0\0");
}
