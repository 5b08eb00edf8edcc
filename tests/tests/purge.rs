//! Purges over HTTP: what plugins send, who may, and what is gone afterwards.

use myriad_tests::{Answer, Cached, Call, Origin, Request, Server, wait_for};

/// A page that says how many there were before it, with tags by its path.
fn tagged(call: &mut Call) {
    let text = format!("page {}", call.number);
    let tags = match call.uri() {
        "/a" => "Surrogate-Key: site a\nCache-Tag: both",
        "/b" => "xkey: site,b\nX-Cache-Tags: both",
        _ => "X-LiteSpeed-Tag: site",
    };
    call.answer(&format!("Content-Type: text/plain\n{tags}"), text);
}

fn start() -> (Server, Origin) {
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge on;";
    Cached { server, ..Cached::default() }.start(tagged)
}

fn purge(server: &Server, target: &str, fields: &[(&str, &str)]) -> Answer {
    let request = fields
        .iter()
        .fold(Request::new("PURGE", target), |request, (name, value)| request.field(name, value));
    server.fetch(&request)
}

fn cached(server: &Server, target: &str) -> bool {
    server.get(target).cache() == "HIT"
}

fn fill(server: &Server, targets: &[&str]) {
    for target in targets {
        server.get(target);
        assert!(cached(server, target), "{target}");
    }
}

#[test]
fn tags_are_not_the_visitors_business() {
    let (server, _origin) = start();
    for _ in 0..2 {
        for target in ["/a", "/b", "/c"] {
            let answer = server.get(target);
            for name in ["Surrogate-Key", "Cache-Tag", "xkey", "X-Cache-Tags", "X-LiteSpeed-Tag"] {
                assert_eq!(answer.field(name), None, "{target} {name} {}", answer.cache());
            }
        }
    }
}

#[test]
fn url_is_purged_with_any_query_and_once() {
    let (server, _origin) = start();
    fill(&server, &["/a", "/a?x=1", "/a?y=1", "/b"]);
    let answer = purge(&server, "/a?x=1", &[("X-Purge-Method", "default")]);
    assert_eq!((answer.status, answer.field("Cache-Purge-Result")), (200, Some("url; count=1")));
    assert!(cached(&server, "/a") && cached(&server, "/a?y=1") && !cached(&server, "/a?x=1"));
    let answer = purge(&server, "/a", &[("X-Purge-Method", "default")]);
    assert_eq!((answer.status, answer.field("Cache-Purge-Result")), (200, Some("url; count=3")));
    assert_eq!(purge(&server, "/a", &[("X-Purge-Method", "default")]).status, 404);
    assert_eq!(purge(&server, "/a", &[]).status, 412);
    assert!(cached(&server, "/b"));
    for target in ["/a", "/a?x=1", "/a?y=1"] {
        assert!(!cached(&server, target), "{target}");
    }
}

#[test]
fn tags_purge_all_that_bear_them_and_count_them() {
    let (server, _origin) = start();
    fill(&server, &["/a", "/b", "/c"]);
    let answer = purge(&server, "/", &[("X-Purge-Method", "tags"), ("X-Cache-Tags-Pattern", "both|other")]);
    assert_eq!((answer.status, answer.field("Cache-Purge-Result")), (200, Some("tags; count=2")));
    assert!(cached(&server, "/c"));
    assert!(!cached(&server, "/a") && !cached(&server, "/b"));
    let answer = purge(&server, "/", &[("Surrogate-Key", "site")]);
    assert_eq!(answer.field("Cache-Purge-Result"), Some("tags; count=3"));
}

#[test]
fn wildcard_regex_and_all_hold_at_once_and_are_logged_once_swept() {
    for (target, fields) in
        [("/a/*", &[][..]), ("/a/.*", &[("X-Purge-Method", "regex")]), ("/.*", &[]), ("/purgeall", &[])]
    {
        let (server, _origin) = start();
        fill(&server, &["/a/1", "/a/2?x", "/b"]);
        assert_eq!(purge(&server, target, fields).status, 200, "{target}");
        assert_eq!(cached(&server, "/b"), target.starts_with("/a/"), "{target}");
        assert!(!cached(&server, "/a/1") && !cached(&server, "/a/2?x"), "{target}");
        server.log_has(" in zone pages: ");
    }
}

#[test]
fn soft_purge_leaves_the_page_stale() {
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge on; fastcgi_cache_use_stale updating;
                  fastcgi_cache_background_update on;";
    let (server, origin) = Cached { server, ..Cached::default() }.start(tagged);
    fill(&server, &["/a"]);
    assert_eq!(purge(&server, "/a", &[("X-Soft-Purge", "1")]).status, 200);
    let before = origin.count();
    assert_eq!(server.get("/a").cache(), "STALE");
    wait_for("the refresh", || origin.count() > before && cached(&server, "/a"));
}

#[test]
fn purge_that_was_passed_on_is_refused() {
    let (server, _origin) = start();
    fill(&server, &["/a"]);
    for name in ["X-Forwarded-For", "Forwarded", "Via"] {
        assert_eq!(purge(&server, "/a", &[(name, "127.0.0.1")]).status, 403, "{name}");
    }
    assert!(cached(&server, "/a"));
}

#[test]
fn pattern_that_is_no_regex_is_refused_with_the_reason() {
    let (server, _origin) = start();
    fill(&server, &["/a"]);
    assert_eq!(purge(&server, "/(", &[("X-Purge-Method", "regex")]).status, 400);
    assert_eq!(
        purge(&server, "/", &[("X-Purge-Method", "tags"), ("X-Cache-Tags-Pattern", "a(")]).status,
        400
    );
    assert!(cached(&server, "/a"));
}
