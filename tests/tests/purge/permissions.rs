//! Permissions of purges, and invalid patterns.

use std::io::{Read, Write};
use std::net::TcpStream;

use myriad_tests::{Cached, Origin, Place, Request, Server, own_address};

use super::{cached, fill, purge, start, tagged};

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
    server.log_has("purge forbidden: a proxy forwarded it");
}

/// A user of the server's machine opens a page of another site, which causes the browser to send a purge.
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
        // The name of the attacker resolves to this server, so the browser considers the request same-origin.
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
    server.log_has("purge forbidden: the request originates from a page of another site");
    let own = [("Origin", "http://localhost"), ("Sec-Fetch-Site", "same-origin")];
    assert_eq!(purge(&server, "/a", &own).status, 200);
    assert!(!cached(&server, "/a"));
}

/// A page whose name resolves to this server (DNS rebinding) sends neither `Origin` nor `Sec-Fetch-Site` with a GET
/// over plain HTTP.
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
        // It purges only pages of that host, which has none.
        assert_eq!(ask(method, "/url/a", "evil.test", None), 404, "{method}");
    }
    assert!(cached(&server, "/a"));
    server.log_has("purge forbidden: the host of the GET request is not a \"server_name\"");
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
    // The reported address is irrelevant: the local proxy forwarded the request of another client.
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
fn backtracking_regex_blocks_no_request() {
    let (server, _origin) = start();
    let long = format!("/{}!", "a".repeat(2000));
    fill(&server, &["/b", &long]);
    assert_eq!(purge(&server, "/", &[("X-Purge-Regex", "^/(a+)+$")]).status, 200);
    // A URL that exceeds the limits of the matcher is fetched again; other URLs are matched exactly.
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
