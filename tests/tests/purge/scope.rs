//! Scope of a purge: by URL, tag and pattern, in all encodings, in memory and on disk.

use myriad_tests::{Cached, Origin, Place, Request, Server, Signal, wait_for};

use super::{cached, fill, purge, start, tagged};

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
    // The client has the whole page before the fetch is complete, and a fetch in flight counts as a page.
    wait_for("the end of the fetch", || purge(&server, "/a", &[("X-Purge-Method", "default")]).status == 404);
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
        server.log_has(" in zone \"pages\": ");
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
fn all_encodings_and_methods_of_a_page_go_with_it() {
    let (server, _origin) = Cached {
        server: "fastcgi_cache_valid 1h; fastcgi_cache_purge on; gzip on; gzip_http_version 1.0;",
        key: "$request_method$request_uri",
        ..Cached::default()
    }
    .start(|call| {
        let text = format!("{} {}", call.number, "all the same ".repeat(100));
        call.answer("Content-Type: text/plain\nVary: Accept-Language", text);
    });
    server.wait_for_recoveries(1);
    let ways = || {
        [
            Request::get("/a").accepting("gzip"),
            Request::get("/a").accepting("br"),
            Request::get("/a"),
            Request::head("/a"),
            Request::get("/a").field("Accept-Language", "de"),
            Request::get("/a?x").field("Accept-Language", "de"),
        ]
    };
    for way in 0..ways().len() {
        for request in ways() {
            server.fetch(&request);
            assert_eq!(server.fetch(&request).cache(), "HIT", "{request:?}");
        }
        let answer = purge(&server, "/a", &[]);
        // Two variants of the page and one of the page with the query, each with its encodings.
        assert_eq!(answer.field("Cache-Purge-Result"), Some("url; count=3"), "{way}");
        assert_eq!(server.fetch(&ways()[way]).cache(), "MISS", "{way}");
        purge(&server, "/a", &[]);
    }
}

#[test]
fn requests_of_a_pipeline_find_the_purge_between_them() {
    let (server, _origin) = start();
    fill(&server, &["/a"]);
    let mut client = server.connect();
    let all = ["GET", "PURGE", "GET", "GET", "BAN", "GET"].map(|method| Request::new(method, "/a").bytes());
    client.send(all.concat());
    let answers: Vec<_> =
        (0..6).map(|_| client.answer()).map(|answer| (answer.status, answer.cache().to_owned())).collect();
    let expected = [(200, "HIT"), (200, "-"), (200, "MISS"), (200, "HIT"), (200, "-"), (200, "MISS")];
    assert_eq!(answers, expected.map(|(status, cache)| (status, cache.to_owned())));
}

#[test]
fn folder_and_file_are_purged_though_no_cache_answers_for_them() {
    let mut place = Place::new();
    let origin = Origin::start(tagged);
    place.set("ORIGIN", &origin.address);
    place.write("html/index.php", "");
    place.write("html/file.txt", "text");
    let http = "fastcgi_cache_path @DIR@/cache keys_zone=pages:1m; server { listen 127.0.0.1:@PORT@; root @DIR@/html;
        index index.php; @PARAMS@ location / { try_files $uri $uri/ /index.php; }
        location ~ \\.php$ { fastcgi_pass @ORIGIN@; fastcgi_cache pages; fastcgi_cache_key $request_uri;
        fastcgi_cache_valid 1h; fastcgi_cache_purge on; add_header X-Cache $upstream_cache_status; } }";
    let server = Server::start(place, http);
    fill(&server, &["/", "/post/"]);
    assert_eq!(purge(&server, "/", &[]).status, 200);
    assert_eq!(purge(&server, "/post/", &[]).status, 200);
    assert!(!cached(&server, "/") && !cached(&server, "/post/"));
    assert_eq!(purge(&server, "/file.txt", &[]).status, 412);
    assert_eq!(purge(&server, "/file.txt", &[("Via", "x")]).status, 403);
    assert_eq!(server.get("/file.txt").text(), "text");
}

#[test]
fn tag_header_beyond_the_bounds_leaves_a_page_that_any_tag_covers() {
    let server =
        "fastcgi_cache_valid 1h; fastcgi_cache_purge on; fastcgi_buffer_size 128k; fastcgi_buffers 8 128k;
                  fastcgi_busy_buffers_size 256k;";
    let (server, _origin) = Cached { server, ..Cached::default() }.start(|call| {
        let tags = (0..20_000).map(|n| format!("t{n}")).collect::<Vec<_>>().join(" ");
        call.answer(&format!("Content-Type: text/plain\nSurrogate-Key: {}", &tags[..100 << 10]), "text");
    });
    server.wait_for_recoveries(1);
    fill(&server, &["/a"]);
    server.log_has("more tags than allowed per page");
    let answer = purge(&server, "/", &[("Surrogate-Key", "t19000")]);
    assert_eq!(answer.field("Cache-Purge-Result"), Some("tags; count=1"));
    assert!(!cached(&server, "/a"));
}

#[test]
fn purge_of_one_zone_reaches_all_zones_of_the_server() {
    let http = "fastcgi_cache_path @DIR@/other keys_zone=other:1m;";
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge on;
                  location /x/ { fastcgi_cache other; fastcgi_pass @ORIGIN@; }";
    let (server, _origin) = Cached { server, http, ..Cached::default() }.start(tagged);
    server.wait_for_recoveries(2);
    fill(&server, &["/a", "/x/a"]);
    let answer = purge(&server, "/", &[("X-Cache-Tags", "site")]);
    assert_eq!(answer.field("Cache-Purge-Result"), Some("tags; count=2"));
    assert!(!cached(&server, "/a") && !cached(&server, "/x/a"));
}

#[test]
fn what_lies_on_disk_alone_is_purged_and_counted() {
    let (mut server, _origin) = start();
    fill(&server, &["/a", "/b", "/c"]);
    let purges = [("/", &[("Surrogate-Key", "both")][..], "tags; count=2"), ("/b", &[], "url; count=1")];
    for (target, fields, count) in purges {
        let before = server.recoveries();
        server.restart(Signal::QUIT);
        // The pages have not been requested since the restart: they are known only from their files, after the
        // recovery.
        server.wait_for_recoveries(before + 1);
        let answer = purge(&server, target, fields);
        assert_eq!(answer.field("Cache-Purge-Result"), Some(count), "{target}");
        assert!(!cached(&server, "/b"), "{target}");
        assert!(cached(&server, "/b") && cached(&server, "/c"), "{target}");
    }
}
