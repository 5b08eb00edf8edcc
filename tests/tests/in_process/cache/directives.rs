//! Tests of the cache settings, at one level and inherited by nested levels.

use std::path::Path;

use myriad_cache::settings::{CacheRules, CacheSettings, CacheZone, cache_key};
use myriad_cache::shared_fetch::SharedFetchSettings;
use myriad_conf::model::HttpConf;
use myriad_conf::settings::Protocol;
use myriad_conf::{MemoryLoader, Settings, Text, build};
use myriad_policy::{LockRules, StatusMatch};
use myriad_serve::registry;

#[track_caller]
fn http(inside: &str) -> HttpConf {
    let path = Path::new("/conf/nginx.conf");
    let loader = MemoryLoader::with(path, format!("http {{ {inside} }}"));
    let parsed = registry().parse(&loader, path, b"");
    build(&parsed, registry()).expect("a valid configuration").http.expect("a block")
}

/// Returns the settings of a location with these directives.
#[track_caller]
fn settings(inside: &str) -> Settings {
    http(&format!("server {{ location / {{ {inside} }} }}")).servers.remove(0).locations.remove(0).settings
}

fn protocol(prefix: &str) -> Protocol {
    registry().protocols().find(|protocol| protocol.prefix() == prefix).expect("a protocol")
}

fn texts(texts: &[Text]) -> Vec<String> {
    texts.iter().map(|text| text.lossy().into_owned()).collect()
}

#[test]
fn cache_directives_are_read_and_the_lock_is_on_unless_it_is_written_off() {
    let http = http(
        "fastcgi_cache_path /c keys_zone=Z:10m;
         server { fastcgi_cache Z; fastcgi_cache_key $uri; location /a { }
           location /b { fastcgi_cache off; fastcgi_cache_lock off; fastcgi_cache_lock_timeout 3s; fastcgi_cache_lock_age 4s;
             fastcgi_cache_valid 10m; fastcgi_cache_valid 404 1m; fastcgi_cache_valid any 30s;
             fastcgi_cache_methods GET POST; fastcgi_cache_min_uses 3; fastcgi_cache_bypass $a $b; fastcgi_no_cache $c;
             fastcgi_cache_use_stale error updating http_503; fastcgi_cache_background_update on; } }",
    );
    let origin = |index: usize| http.servers[0].locations[index].settings.origin(protocol("fastcgi_"));
    let cache = |index: usize| origin(index).own::<CacheSettings>().clone();
    let (a, b) = (cache(0), cache(1));
    assert!(matches!(a.zone, CacheZone::Zone(name) if name.bytes() == b"Z"));
    assert_eq!((a.lock, a.lock_rules), (true, LockRules { timeout_ms: None, age_ms: None }));
    assert_eq!(
        (b.zone, b.lock, b.lock_rules),
        (CacheZone::Off, false, LockRules { timeout_ms: Some(3_000), age_ms: Some(4_000) })
    );
    let valid: Vec<_> = b.valid.iter().map(|valid| (valid.valid.status, valid.valid.ms)).collect();
    let code = StatusMatch::Code;
    let expected = [
        (code(200), 600_000),
        (code(301), 600_000),
        (code(302), 600_000),
        (code(404), 60_000),
        (StatusMatch::Any, 30_000),
    ];
    assert_eq!(valid, expected);
    assert!(b.methods.post && b.background_update && b.use_stale.updating && !b.use_stale.timeout);
    assert_eq!(
        (b.min_uses, texts(&b.bypass), texts(&b.no_cache)),
        (3, vec!["$a".into(), "$b".into()], vec!["$c".into()])
    );
}

#[test]
fn the_key_is_what_is_written_and_else_that_of_the_protocol() {
    let key = |prefix: &str, inside: &str| {
        let settings = settings(inside);
        cache_key(settings.origin(protocol(prefix))).lossy().into_owned()
    };
    assert_eq!(key("proxy_", ""), protocol("proxy_").default_key().text);
    assert_eq!(key("proxy_", "proxy_cache_key $uri;"), "$uri");
    assert_eq!(key("fastcgi_", ""), "$scheme$request_method$host$request_uri");
    assert_eq!(key("fastcgi_", "fastcgi_cache_key $uri;"), "$uri");
}

#[test]
fn head_becomes_get_where_protocol_converts_it_by_default() {
    let convert_head = |prefix: &str, inside: &str| {
        settings(inside).origin(protocol(prefix)).own::<CacheSettings>().convert_head
    };
    assert_eq!(convert_head("fastcgi_", ""), None);
    assert_eq!(convert_head("proxy_", ""), Some(true));
    assert_eq!(convert_head("proxy_", "proxy_cache_convert_head off;"), Some(false));
}

#[test]
fn personal_cookies_add_replace_or_end_the_list() {
    let read = |text: &str| settings(text).feature::<CacheRules>().personal_cookies.clone();
    assert!(read("").builtin && !read("").is_off());
    assert!(read("personal_cookies off;").is_off());
    let added = read("personal_cookies default mine other_*;");
    assert!(added.builtin);
    assert_eq!(texts(&added.names), ["mine", "other_*"]);
    assert!(!read("personal_cookies mine;").builtin);
}

#[test]
fn impersonal_cookies_are_a_list_that_replaces_the_one_outside() {
    let inside = |outer: &str, inner: &str| {
        let http = http(&format!("{outer} server {{ {inner} }}"));
        texts(&http.servers[0].settings.feature::<CacheRules>().impersonal_cookies).join(" ")
    };
    assert_eq!(inside("", ""), "");
    assert_eq!(inside("impersonal_cookies a b_*;", ""), "a b_*");
    assert_eq!(inside("impersonal_cookies a;", "impersonal_cookies c;"), "c");
    assert_eq!(inside("impersonal_cookies a;", "impersonal_cookies off;"), "");
}

#[test]
fn shared_fetch_headers_are_inherited_and_replaced_as_list() {
    let inside = |outer: &str, inner: &str| {
        let http = http(&format!("{outer} server {{ {inner} }}"));
        http.servers[0].settings.feature::<SharedFetchSettings>().clone()
    };
    assert!(!inside("", "").on);
    assert!(inside("shared_fetch_headers on;", "").on);
    let named = inside("shared_fetch_headers on X-A;", "shared_fetch_headers X-B; shared_fetch_headers X-C;");
    assert!(named.on);
    assert_eq!(texts(&named.fields), ["X-B", "X-C"]);
    assert!(!inside("shared_fetch_headers X-A;", "shared_fetch_headers off;").on);
    let keyed = inside("cache_key_field Accept-Language en de;", "");
    assert_eq!(texts(&keyed.keyed[0].values), ["en", "de"]);
    let replaced = inside("cache_key_field Accept-Language;", "cache_key_cookie currency EUR;");
    assert_eq!(
        (replaced.keyed.len(), replaced.keyed[0].cookie),
        (1, true),
        "both directives add to one list"
    );
}
