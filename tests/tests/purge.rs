//! Purges over HTTP: what plugins send, who may, and what is gone afterwards.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use myriad_tests::{
    Answer, Cached, Call, Client, Gate, Origin, Place, Request, Server, Signal, own_address, wait_for,
};

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
    let (server, origin) = Cached { server, ..Cached::default() }.start(tagged);
    server.wait_for_recoveries(1);
    (server, origin)
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
fn purge_that_was_passed_on_is_refused() {
    let (server, _origin) = start();
    fill(&server, &["/a"]);
    for name in ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "X-Forwarded-Proto", "CF-Connecting-IP"]
    {
        assert_eq!(purge(&server, "/a", &[(name, "127.0.0.1")]).status, 403, "{name}");
        assert_eq!(purge(&server, "/.*", &[(name, "127.0.0.1")]).status, 403, "{name}");
    }
    assert!(cached(&server, "/a"));
    server.log_has("purge forbidden: it was passed on by a proxy");
}

/// Somebody on the server's machine looks at a page of another site, which has their browser ask.
#[test]
fn purge_that_a_browser_sends_for_another_site_s_page_is_refused() {
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge on;
        location /purge/ { fastcgi_cache_purge pages url $request_uri; allow all; }";
    let (server, _origin) = Cached { server, ..Cached::default() }.start(tagged);
    fill(&server, &["/a"]);
    let foreign: [&[(&str, &str)]; 6] = [
        &[("Origin", "http://evil.test")],
        &[("Origin", "null")],
        &[("Origin", "https://localhost")],
        &[("Origin", "http://localhost"), ("Sec-Fetch-Site", "cross-site")],
        &[("Sec-Fetch-Site", "same-site")],
        // Its name leads here: the browser takes the server for its own.
        &[("Host", "evil.test"), ("Origin", "http://evil.test"), ("Sec-Fetch-Site", "same-origin")],
    ];
    for fields in foreign {
        for target in ["/a", "/.*", "/purgeall", "/purge/a"] {
            assert_eq!(purge(&server, target, fields).status, 403, "{target} {fields:?}");
        }
        let tags = [fields, &[("Surrogate-Key", "site")]].concat();
        assert_eq!(purge(&server, "/", &tags).status, 403, "{fields:?}");
    }
    assert!(cached(&server, "/a"));
    server.log_has("purge forbidden: a browser asks for a page of another site");
    let own = [("Origin", "http://localhost"), ("Sec-Fetch-Site", "same-origin")];
    assert_eq!(purge(&server, "/a", &own).status, 200);
    assert!(!cached(&server, "/a"));
}

/// A page whose name leads here (DNS rebinding) sends neither `Origin` nor `Sec-Fetch-Site` with a GET over plain HTTP.
#[test]
fn purge_by_a_get_for_a_host_that_is_not_the_server_s_is_refused() {
    let server = "fastcgi_cache_valid 1h; server_name site.test;
        location ~ ^/purge(/.*) { fastcgi_cache_purge pages $1; }
        location ~ ^/allowed(/.*) { allow 127.0.0.1; deny all; fastcgi_cache_purge pages $1; }
        location ~ ^/url(/.*) { fastcgi_cache_purge pages url $1; }";
    let site = Cached { server, key: "$request_uri", ..Cached::default() };
    let (server, _origin) = site.start(tagged);
    let ask = |method: &str, target: &str, host: &str, referer: Option<&str>| {
        let request = Request::new(method, target).host(host);
        server
            .fetch(&referer.into_iter().fold(request, |request, page| request.field("Referer", page)))
            .status
    };
    fill(&server, &["/a"]);
    for method in ["GET", "HEAD"] {
        for target in ["/purge/a", "/purge/*"] {
            assert_eq!(ask(method, target, "evil.test", None), 403, "{method} {target}");
            assert_eq!(ask(method, target, "evil.test", Some("http://evil.test/")), 403, "{method} {target}");
            for page in
                ["http://evil.test/", "http://site.test@evil.test/", "https://site.test.evil.test", "-"]
            {
                assert_eq!(ask(method, target, "site.test", Some(page)), 403, "{method} {target} {page}");
            }
        }
        assert_eq!(ask(method, "/url/a", "site.test", Some("http://evil.test/")), 403, "{method}");
        // The pages of that host alone, and there are none.
        assert_eq!(ask(method, "/url/a", "evil.test", None), 404, "{method}");
    }
    assert!(cached(&server, "/a"));
    server.log_has("purge forbidden: it is a GET for a host that \"server_name\" does not name");
    assert_eq!(ask("GET", "/purge/a", "site.test", Some("https://site.test:8443/wp-admin/")), 200);
    for (target, host) in [("/purge/a", "site.test"), ("/purge/*", "localhost"), ("/allowed/a", "other.test")]
    {
        fill(&server, &["/a"]);
        assert_eq!(ask("GET", target, host, None), 200, "{target} {host}");
        assert!(!cached(&server, "/a"), "{target} {host}");
    }
}

/// The page was fetched over TLS, from a proxy in front.
#[test]
fn purge_of_the_site_s_own_page_through_a_proxy_that_from_covers_is_made() {
    let server = "fastcgi_cache_valid 1h; server_name site.test; fastcgi_cache_purge PURGE from 127.0.0.1;";
    let (server, _origin) = Cached { server, ..Cached::default() }.start(tagged);
    let ask = |origin: &str, fetch: &str| {
        let request = Request::new("PURGE", "/a").host("site.test").field("Origin", origin);
        server.fetch(&request.field("X-Forwarded-For", "192.0.2.1").field("Sec-Fetch-Site", fetch)).status
    };
    for own in ["https://site.test", "https://site.test:8443", "http://site.test"] {
        drop(server.fetch(&Request::get("/a").host("site.test")));
        assert_eq!(ask(own, "same-origin"), 200, "{own}");
    }
    for other in ["https://evil.test", "https://site.test.evil.test", "null", "https://site.test@evil.test"] {
        assert_eq!(ask(other, "same-origin"), 403, "{other}");
    }
    assert_eq!(ask("https://site.test", "same-site"), 403);
}

#[test]
fn pattern_that_is_too_long_is_refused_with_the_reason() {
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge on;
        location ~ ^/purge(/.*) { fastcgi_cache_purge pages $1; }";
    let (server, _origin) = Cached { server, ..Cached::default() }.start(tagged);
    fill(&server, &["/a"]);
    let long = |start: &str, end: &str| format!("{start}{}{end}", "a".repeat(4200));
    for (method, target) in
        [("PURGE", long("/", "*")), ("PURGE", long("/", ".*")), ("GET", long("/purge/", "*"))]
    {
        let answer = server.fetch(&Request::new(method, &target));
        assert_eq!(answer.status, 400, "{method}");
        assert!(answer.text().contains("longer than 4096 bytes"), "{}", answer.text());
    }
    let most = format!("/{}*", "a".repeat(4094));
    assert_eq!(purge(&server, &most, &[]).status, 200);
    assert!(cached(&server, "/a"));
}

#[test]
fn purge_for_a_client_that_realip_names_is_refused() {
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge on; set_real_ip_from 127.0.0.0/8; real_ip_header X-Client;";
    let (server, _origin) = Cached { server, ..Cached::default() }.start(tagged);
    fill(&server, &["/a"]);
    // Whatever address is named: the proxy on this machine took the request from somebody.
    for client in ["192.0.2.9", "127.0.0.1"] {
        assert_eq!(purge(&server, "/a", &[("X-Client", client)]).status, 403, "{client}");
    }
    assert!(cached(&server, "/a"));
    assert_eq!(purge(&server, "/a", &[]).status, 200);
}

#[test]
fn servers_own_address_may_purge() {
    let mut place = Place::new();
    let Some(own) = own_address() else { return };
    let origin = Origin::start(tagged);
    place.set("ORIGIN", &origin.address);
    let http = "fastcgi_cache_path @DIR@/cache keys_zone=pages:1m; server { listen 0.0.0.0:@PORT@; @PARAMS@
        location / { fastcgi_pass @ORIGIN@; fastcgi_cache pages; fastcgi_cache_key $request_uri; fastcgi_cache_valid 1h;
        fastcgi_cache_purge on; add_header X-Cache $upstream_cache_status; } }";
    let server = Server::start(place, http);
    fill(&server, &["/a"]);
    let mut stream = TcpStream::connect((own, server.port)).expect("the own address");
    stream
        .write_all(b"PURGE /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(!cached(&server, "/a"));
}

#[test]
fn pattern_that_is_no_regex_is_refused_with_the_reason() {
    let (server, _origin) = start();
    fill(&server, &["/a"]);
    let answer = purge(&server, "/(", &[("X-Purge-Method", "regex")]);
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("parenthes"), "{}", answer.text());
    assert_eq!(
        purge(&server, "/", &[("X-Purge-Method", "tags"), ("X-Cache-Tags-Pattern", "a(")]).status,
        400
    );
    assert!(cached(&server, "/a"));
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
        // Two variants of the page, one of that with the query, each with its encodings.
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

/// An origin whose answers wait for the gate once it is closed.
fn held() -> (Server, Origin, Arc<Gate>) {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge on;";
    let (server, origin) = Cached { server, ..Cached::default() }.start(move |call| {
        held.pass();
        call.answer("Content-Type: text/plain\nSurrogate-Key: one", format!("page {}", call.number));
    });
    (server, origin, gate)
}

#[test]
fn page_that_is_being_fetched_when_it_is_purged_is_not_stored() {
    let ways: [(&str, &[(&str, &str)]); 5] = [
        ("/a", &[]),
        ("/", &[("Surrogate-Key", "one")]),
        ("/a*", &[]),
        ("/.*", &[("X-Purge-Method", "regex")]),
        ("/purgeall", &[]),
    ];
    for (target, fields) in ways {
        let (server, origin, gate) = held();
        let mut visitor = server.connect();
        visitor.send(Request::get("/a").bytes());
        origin.wait_for(1);
        let status = purge(&server, target, fields).status;
        assert!(status == 200 || status == 412, "{target} {status}");
        gate.open();
        assert_eq!(visitor.answer().text(), "page 1");
        let next = server.get("/a");
        assert_eq!((next.cache(), next.text()), ("MISS", "page 2".to_owned()), "{target}");
    }
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
    server.log_has("more tags than a page may have");
    let answer = purge(&server, "/", &[("Surrogate-Key", "t19000")]);
    assert_eq!(answer.field("Cache-Purge-Result"), Some("tags; count=1"));
    assert!(!cached(&server, "/a"));
}

#[test]
fn regex_without_end_holds_nobody_up() {
    let (server, _origin) = start();
    let long = format!("/{}!", "a".repeat(2000));
    fill(&server, &["/b", &long]);
    assert_eq!(purge(&server, "/", &[("X-Purge-Regex", "^/(a+)+$")]).status, 200);
    // What it cannot tell of within its bounds is fetched anew; the rest is told.
    assert!(cached(&server, "/b") && !cached(&server, &long));
}

#[test]
fn flood_of_purges_without_permission_is_a_few_lines() {
    let (server, _origin) = start();
    let mut client = server.connect();
    for _ in 0..300 {
        assert_eq!(client.fetch(&Request::new("PURGE", "/a").field("Via", "x")).status, 403);
    }
    server.log_has("purge forbidden");
    let lines = server.read("error.log").matches("purge forbidden").count();
    assert!(lines < 60, "{lines}");
}

#[test]
fn dot_rules_of_the_site_do_not_stand_before_a_purge_of_all() {
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge on; location ~ /\\. { deny all; }";
    let (server, _origin) = Cached { server, ..Cached::default() }.start(tagged);
    fill(&server, &["/a"]);
    assert_eq!(purge(&server, "/.*", &[]).status, 200);
    assert!(!cached(&server, "/a"));
}

#[test]
fn place_that_asks_who_comes_is_not_purged_past_it() {
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge PURGE from all;
                  location /own/ { deny all; fastcgi_pass @ORIGIN@; }";
    let (server, _origin) = Cached { server, ..Cached::default() }.start(tagged);
    assert_eq!(purge(&server, "/own/*", &[]).status, 403);
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
fn purges_that_an_answer_asks_for_hold_before_it_is_seen() {
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge on;";
    let (server, _origin) =
        Cached { server, ..Cached::default() }.start(|call| match call.param("REQUEST_METHOD") {
            "POST" => call.answer("X-LiteSpeed-Purge: public, tag=a, /b; private, *", "saved"),
            _ => tagged(call),
        });
    fill(&server, &["/a", "/b", "/c"]);
    let answer = server.fetch(&Request::post("/wp-admin/post.php", "x=1"));
    assert_eq!((answer.text(), answer.field("X-LiteSpeed-Purge")), ("saved".to_owned(), None));
    assert!(cached(&server, "/c"));
    assert!(!cached(&server, "/a") && !cached(&server, "/b"));
}

#[test]
fn what_lies_on_disk_alone_is_purged_and_counted() {
    let (mut server, _origin) = start();
    fill(&server, &["/a", "/b", "/c"]);
    let purges = [("/", &[("Surrogate-Key", "both")][..], "tags; count=2"), ("/b", &[], "url; count=1")];
    for (target, fields, count) in purges {
        let before = server.recoveries();
        server.restart(Signal::QUIT);
        // Asked of nobody before: only files tell, once they are found.
        server.wait_for_recoveries(before + 1);
        let answer = purge(&server, target, fields);
        assert_eq!(answer.field("Cache-Purge-Result"), Some(count), "{target}");
        assert!(!cached(&server, "/b"), "{target}");
        assert!(cached(&server, "/b") && cached(&server, "/c"), "{target}");
    }
}

#[test]
fn purge_that_was_answered_holds_after_a_crash() {
    for (target, fields) in
        [("/a", &[][..]), ("/", &[("Surrogate-Key", "a")]), ("/a*", &[]), ("/purgeall", &[])]
    {
        let (mut server, _origin) = start();
        fill(&server, &["/a"]);
        server.restart(Signal::QUIT);
        assert_eq!(purge(&server, target, fields).status, 200, "{target}");
        server.restart(Signal::KILL);
        assert!(!cached(&server, "/a"), "{target}");
        assert!(cached(&server, "/a"), "{target}");
    }
}

/// What `PURGE` says of a URL it must say of patterns and tags, too.
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

#[test]
fn address_that_a_proxy_gives_must_be_in_from_as_well() {
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge on from 127.0.0.1 192.0.2.7;
                  set_real_ip_from 127.0.0.1; real_ip_header X-Client;";
    let (server, _origin) = Cached { server, ..Cached::default() }.start(tagged);
    fill(&server, &["/a"]);
    for target in ["/a", "/.*"] {
        assert_eq!(purge(&server, target, &[("X-Client", "192.0.2.9")]).status, 403, "{target}");
    }
    assert!(cached(&server, "/a"));
    assert_eq!(purge(&server, "/a", &[("X-Client", "192.0.2.7")]).status, 200);
}

#[test]
fn address_by_the_proxy_protocol_must_be_in_from_as_well() {
    let origin = Origin::start(tagged);
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let http = "fastcgi_cache_path @DIR@/cache keys_zone=pages:1m;
        server { listen 127.0.0.1:@PORT@ proxy_protocol; @PARAMS@ location / { fastcgi_pass @ORIGIN@; fastcgi_cache pages;
        fastcgi_cache_key $request_uri; fastcgi_cache_valid 1h; fastcgi_cache_purge on from 127.0.0.1 192.0.2.7; } }";
    let server = Server::start(place, http);
    for (client, status) in [("192.0.2.9", "403"), ("192.0.2.7", "200")] {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
        let head = "PURGE /.* HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        write!(stream, "PROXY TCP4 {client} 127.0.0.1 1 2\r\n{head}").expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{client} {answer}");
    }
}

/// Both processes serve from one folder, and each has its own memory.
#[test]
fn purges_of_either_process_hold_in_both_during_an_upgrade() {
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge on; add_header X-Pid $pid always;";
    let (mut server, _origin) = Cached { server, ..Cached::default() }.start(tagged);
    let targets = ["/a", "/b", "/c1", "/c2", "/d"];
    fill(&server, &targets);
    let supervisor = |file: &str| server.read(file).trim().parse::<u32>().ok();
    let before = supervisor("myriad.pid").expect("a pid");
    let mut old = server.connect();
    let pid = |client: &mut Client| client.fetch(&Request::get("/d")).field("X-Pid").map(str::to_owned);
    let old_pid = pid(&mut old);
    server.signal(Signal::USR2);
    let mut after = None;
    wait_for("both pid files", || {
        after = supervisor("myriad.pid").filter(|pid| *pid != before);
        after.is_some() && supervisor("myriad.pid.oldbin").is_some()
    });
    let mut new = server.connect();
    wait_for("the new process", || {
        new = server.connect();
        pid(&mut new) != old_pid
    });
    let first: Vec<String> = targets.iter().map(|target| new.fetch(&Request::get(target)).text()).collect();
    let purge = |client: &mut Client, target: &str| {
        assert_eq!(client.fetch(&Request::new("PURGE", target)).status, 200, "{target}");
    };
    purge(&mut old, "/a");
    purge(&mut new, "/b");
    purge(&mut old, "/c*");
    for (index, target) in targets[..4].iter().enumerate() {
        for client in [&mut old, &mut new] {
            wait_for(&format!("{target} to be gone"), || {
                client.fetch(&Request::get(target)).text() != first[index]
            });
        }
    }
    drop(old);
    server.signal(Signal::QUIT);
    assert!(server.ended(), "the old one ends in peace");
    for (target, first) in targets.iter().zip(&first) {
        let text = server.get(target).text();
        assert_eq!(text == *first, *target == "/d", "{target}: {text}");
    }
    myriad_tests::signal(after.expect("waited for"), Signal::TERM);
}
