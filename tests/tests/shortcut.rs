//! Shortcut: the result of the rules for one request may be reused for the next only if it depends on recorded inputs
//! alone.

use std::io::{Read, Write};
use std::net::TcpStream;

use myriad_tests::{Cached, Call, Origin, Place, Request, Server, wait_for};

fn echo(call: &mut Call) {
    let text = format!("{} {} {}", call.param("HTTP_HOST"), call.uri(), call.number);
    call.answer("Content-Type: text/plain", text);
}

/// Application that admits only clients with a token, and then redirects internally to a cached location.
fn gate(call: &mut Call) {
    if !call.param("SCRIPT_NAME").starts_with("/gate") {
        return call.answer("Content-Type: text/plain", "the secret");
    }
    if call.param("HTTP_X_TOKEN") == "yes" {
        call.answer("X-Accel-Redirect: /protected/secret", "");
    } else {
        call.answer("Status: 403 Forbidden\r\nContent-Type: text/plain", "no");
    }
}

#[test]
fn what_an_application_decided_is_asked_of_it_again() {
    let site = Cached {
        server: "fastcgi_cache_valid 1h; location /gate { fastcgi_cache off; fastcgi_pass @ORIGIN@; } \
                 location /protected/ { internal; fastcgi_pass @ORIGIN@; }",
        ..Cached::default()
    };
    let (server, _origin) = site.start(gate);
    let bearer = Request::get("/gate/doc").field("X-Token", "yes");
    for _ in 0..3 {
        assert_eq!(server.fetch(&bearer).text(), "the secret");
    }
    for _ in 0..3 {
        assert_eq!(server.get("/gate/doc").status, 403);
    }
}

#[test]
fn rules_that_read_field_separate_its_values() {
    let site = Cached {
        key: "$skin$request_uri",
        http: "map $http_user_agent $skin { default desktop; ~Mobile mobile; }",
        ..Cached::default()
    };
    let (server, origin) = site.start(echo);
    let by = |agent: &str| server.fetch(&Request::get("/").field("User-Agent", agent)).text();
    for _ in 0..3 {
        assert_ne!(by("Firefox"), by("Mobile Safari"));
        assert_eq!(by("Firefox"), by("Chromium"));
    }
    assert_eq!(origin.count(), 2);
}

#[test]
fn rules_that_read_the_client_s_address_take_no_short_way() {
    let site = Cached { server: "fastcgi_cache_valid 1h; allow 127.0.0.1; deny all;", ..Cached::default() };
    let (server, _origin) = site.start(echo);
    for _ in 0..3 {
        assert_eq!(server.get("/").status, 200);
    }
}

#[test]
fn a_file_that_appears_is_seen_within_its_validity() {
    let site = Cached {
        server: "fastcgi_cache_valid 1h; open_file_cache off; \
                 if (-f $document_root/maintenance) { return 503; }",
        ..Cached::default()
    };
    let (server, _origin) = site.start(echo);
    for _ in 0..3 {
        assert_eq!(server.get("/").status, 200);
    }
    server.write("html/maintenance", "");
    wait_for("the site is in maintenance", || server.get("/").status == 503);
}

#[test]
fn a_port_or_an_address_of_the_visitor_s_own_makes_no_page_of_others() {
    let (server, _origin) = Cached { key: "$host$request_uri", ..Cached::default() }.start(echo);
    let as_sent = |target: &str, host: &str| server.fetch(&Request::get(target).host(host)).text();
    let odd = as_sent("/", "site.test:1234");
    assert!(odd.starts_with("site.test:1234"), "{odd}");
    let absolute = as_sent("http://site.test/", "evil.test");
    assert!(absolute.starts_with("site.test "), "{absolute}");
    let plain = as_sent("/", "site.test");
    assert!(plain.starts_with("site.test "), "{plain}");
    assert_eq!(as_sent("/", "site.test"), plain);
    assert_eq!(as_sent("/", "site.test:1234"), odd);
}

#[test]
fn a_body_in_the_key_poses_as_no_other_host() {
    let site = Cached {
        key: "$host$request_uri$request_body",
        server: "fastcgi_cache_valid 1h; fastcgi_cache_methods GET HEAD POST;",
        ..Cached::default()
    };
    let (server, origin) = site.start(echo);
    let forged = server.fetch(&Request::post("/", &b"a\0host=localhost:81"[..])).text();
    let other = server.fetch(&Request::post("/", "a").host("localhost:81")).text();
    assert!(forged.starts_with("localhost ") && other.starts_with("localhost:81 "), "{forged}, {other}");
    assert_eq!(origin.count(), 2);
}

#[test]
fn a_get_with_a_body_neither_reads_nor_fills_a_shared_page() {
    let (server, origin) = Cached::default().start(|call| {
        let text = format!("[{}]", String::from_utf8_lossy(&call.body));
        call.answer("Content-Type: text/plain", text);
    });
    let fat = Request::new("GET", "/").field("Content-Length", "4");
    let mut bytes = fat.bytes();
    bytes.extend(b"evil");
    for _ in 0..2 {
        let mut client = server.connect();
        client.send(&bytes);
        assert_eq!(client.answer().text(), "[evil]");
    }
    assert_eq!(server.get("/").text(), "[]");
    assert_eq!(server.get("/").cache(), "HIT");
    assert_eq!(origin.count(), 3);
}

#[test]
fn variants_with_too_long_field_values_are_not_shared() {
    let (server, _origin) =
        Cached { http: "large_client_header_buffers 4 32k;", ..Cached::default() }.start(|call| {
            let last = call.param("HTTP_X_LANG").chars().last().unwrap_or('-');
            call.answer("Content-Type: text/plain\r\nVary: X-Lang", last.to_string());
        });
    let of = |last: char| format!("{}{last}", "x".repeat(9000));
    for last in ['a', 'b', 'a', 'b'] {
        let asked = Request::get("/").field("X-Lang", &of(last));
        assert_eq!(server.fetch(&asked).text(), last.to_string());
    }
}

#[test]
fn servers_sharing_socket_are_distinguished_by_local_address() {
    let origin = Origin::start(|call| {
        let text = call.param("SITE").to_owned();
        call.answer("Content-Type: text/plain", text);
    });
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let site = |listen: &str, name: &str| {
        format!(
            "server {{ listen {listen}; server_name site.test; @PARAMS@ fastcgi_param SITE {name}; \
             location / {{ fastcgi_pass @ORIGIN@; fastcgi_cache pages; fastcgi_cache_key {name}$request_uri; \
             fastcgi_cache_valid 1h; }} }}"
        )
    };
    let http = format!(
        "fastcgi_cache_path @DIR@/cache keys_zone=pages:1m; {} {}",
        site("@PORT@", "open"),
        site("127.0.0.2:@PORT@", "inner")
    );
    let server = Server::start(place, &http);
    let by = |address: &str| {
        let mut stream = TcpStream::connect((address, server.port)).expect("a connection");
        let asked = Request::get("/").host("site.test").field("Connection", "close");
        stream.write_all(&asked.bytes()).expect("the request is sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        text
    };
    for _ in 0..3 {
        assert!(by("127.0.0.1").ends_with("open"));
        assert!(by("127.0.0.2").ends_with("inner"));
    }
}

#[test]
fn stale_page_replaces_error_even_without_cache_lock() {
    let site = Cached {
        server: "fastcgi_cache_valid 1s; fastcgi_cache_lock off; fastcgi_cache_use_stale error timeout http_500;",
        ..Cached::default()
    };
    let (server, _origin) = site.start(|call| {
        if call.number == 1 {
            call.answer("Content-Type: text/plain", "the page");
        } else {
            call.answer("Status: 500 Broken\r\nContent-Type: text/plain", "broken");
        }
    });
    assert_eq!(server.get("/").text(), "the page");
    wait_for("the page is stale", || server.get("/").cache() == "STALE");
    for _ in 0..3 {
        assert_eq!(server.get("/").text(), "the page");
    }
}

#[test]
fn a_file_like_one_before_is_sent_as_by_the_rules_and_its_change_is_seen() {
    let place = Place::new();
    place.write("html/a.css", "one");
    place.write("html/b.css", "other");
    let server = Server::start(
        place,
        "map $arg_ver $kept { default 365d; \"\" 7d; }\n\
         map $http_x_skin $skin { default plain; dark dark; }\n\
         server { listen 127.0.0.1:@PORT@; root @DIR@/html; expires $kept; add_header X-Skin $skin; \
         open_file_cache max=10; open_file_cache_valid 1s; \
         location /set/ { set $own $arg_a; add_header X-Own $own; alias @DIR@/html/; } \
         location ~ ^/(?<named>[a-z])-captured$ { add_header X-Named $named; alias @DIR@/html/$named.css; } }",
    );
    for _ in 0..3 {
        let plain = server.get("/a.css");
        assert_eq!((plain.text().as_str(), plain.field("Cache-Control")), ("one", Some("max-age=604800")));
        assert_eq!(plain.field("X-Skin"), Some("plain"));
        assert_eq!(server.get("/a.css?ver=2").field("Cache-Control"), Some("max-age=31536000"));
        let dark = server.fetch(&Request::get("/a.css").field("X-Skin", "dark"));
        assert_eq!(dark.field("X-Skin"), Some("dark"));
        for value in ["x", "y"] {
            let answer = server.get(&format!("/set/a.css?a={value}"));
            assert_eq!((answer.text().as_str(), answer.field("X-Own")), ("one", Some(value)));
        }
        for (name, text) in [("a", "one"), ("b", "other")] {
            let answer = server.get(&format!("/{name}-captured"));
            assert_eq!((answer.text().as_str(), answer.field("X-Named")), (text, Some(name)));
        }
    }
    server.write("html/a.css", "changed");
    wait_for("the change is seen", || server.get("/a.css").text() == "changed");
    std::fs::remove_file(server.path("html/b.css")).expect("to remove the file");
    wait_for("the file is gone", || server.get("/b.css").status == 404);
}
