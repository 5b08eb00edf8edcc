//! Access rules of a server and its locations apply before a purge.

use myriad_tests::Cached;

use super::{cached, fill, purge, tagged};

#[test]
fn dot_rules_of_the_site_do_not_stand_before_a_purge_of_all() {
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge on; location ~ /\\. { deny all; }";
    let (server, _origin) = Cached { server, ..Cached::default() }.start(tagged);
    fill(&server, &["/a"]);
    assert_eq!(purge(&server, "/.*", &[]).status, 200);
    assert!(!cached(&server, "/a"));
}

#[test]
fn purge_does_not_bypass_access_rules_of_location() {
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge PURGE from all;
                  location /own/ { deny all; fastcgi_pass @ORIGIN@; }";
    let (server, _origin) = Cached { server, ..Cached::default() }.start(tagged);
    assert_eq!(purge(&server, "/own/*", &[]).status, 403);
}

/// Asserts that patterns and tags are rejected like `PURGE` of a URL.
#[track_caller]
fn refuses_all(server: &str, status: u16) {
    let (server, _origin) = Cached { server, ..Cached::default() }.start(tagged);
    fill(&server, &["/a"]);
    for field in [("X-Denied", "1"), ("X-Ignored", "1")] {
        let expected = if field.0 == "X-Denied" { status } else { 200 };
        for target in ["/.*", "/*", "/purgeall"] {
            assert_eq!(purge(&server, target, &[field]).status, expected, "{target} {field:?}");
        }
        assert_eq!(purge(&server, "/", &[field, ("Cache-Tag", "site")]).status, expected, "{field:?}");
        assert_eq!(cached(&server, "/a"), expected != 200, "{field:?}");
    }
}

#[test]
fn rules_of_the_server_come_before_a_purge_of_many() {
    let purge = "fastcgi_cache_valid 1h; fastcgi_cache_purge PURGE from all;";
    refuses_all(&format!("{purge} if ($http_x_denied) {{ return 403; }}"), 403);
    refuses_all(
        &format!("{purge} if ($http_x_denied) {{ rewrite ^ /no last; }} location = /no {{ return 410; }}"),
        410,
    );
}

#[test]
fn rules_of_a_location_are_not_purged_past() {
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge PURGE from all;
                  location /own/ { if ($http_x_denied) { return 403; } fastcgi_pass @ORIGIN@; }";
    let (server, _origin) = Cached { server, ..Cached::default() }.start(tagged);
    assert_eq!(purge(&server, "/own/*", &[("X-Denied", "1")]).status, 403);
    assert_eq!(purge(&server, "/own/*", &[]).status, 200);
}

#[test]
fn location_that_only_sets_variables_does_not_hinder_a_purge_of_all() {
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge on; location ~ /\\. { deny all; }
                  location /own/ { if ($http_x) { set $x 1; } fastcgi_pass @ORIGIN@; }";
    let (server, _origin) = Cached { server, ..Cached::default() }.start(tagged);
    fill(&server, &["/a", "/own/a"]);
    assert_eq!(purge(&server, "/.*", &[]).status, 200);
    assert!(!cached(&server, "/a") && !cached(&server, "/own/a"));
}
