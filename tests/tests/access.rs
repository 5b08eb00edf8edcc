//! Access control and limits: cases that a single configuration file with a few requests cannot cover.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use myriad_tests::{Cached, Client, Origin, Place, Request, Server, wait_for};

const ANNOUNCED: &str = "server { listen 127.0.0.1:@PORT@ proxy_protocol; set_real_ip_from 127.0.0.1;
    real_ip_header proxy_protocol;
    location / { return 200 '$remote_addr:$remote_port $proxy_protocol_server_addr $realip_remote_addr'; } }";

fn request(target: &str) -> Vec<u8> {
    Request::get(target).bytes()
}

#[test]
fn client_that_a_balancer_announces_is_the_client() {
    let server = Server::start(Place::new(), ANNOUNCED);
    let mut one = server.connect();
    one.send([&b"PROXY TCP4 192.0.2.1 192.0.2.2 123 80\r\n"[..], &request("/")].concat());
    assert_eq!(one.answer().text(), "192.0.2.1:123 192.0.2.2 127.0.0.1");
    // The PROXY protocol header is sent once: it applies to the whole connection.
    assert_eq!(one.fetch(&Request::get("/")).text(), "192.0.2.1:123 192.0.2.2 127.0.0.1");

    let mut two = server.connect();
    for byte in b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x07\xc0\0\x02\x08\x01\0\0\x50" {
        two.send([*byte]);
    }
    two.send(request("/"));
    assert_eq!(two.answer().text(), "192.0.2.7:256 192.0.2.8 127.0.0.1");

    let mut own = server.connect();
    own.send([&b"PROXY UNKNOWN\r\n"[..], &request("/")].concat());
    let said = own.answer().text();
    assert!(said.starts_with("127.0.0.1:") && said.ends_with("  127.0.0.1"), "{said}");
}

#[test]
fn connection_without_an_announcement_is_closed_in_silence() {
    let server = Server::start(Place::new(), &format!("client_header_timeout 300ms; {ANNOUNCED}"));
    let starts: [&[u8]; 4] = [
        &request("/"),
        b"PROXY TCP4 nobody nobody 1 2\r\nGET",
        b"PROXY ",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff",
    ];
    for start in starts {
        let mut client = server.connect();
        client.send(start);
        assert_eq!(client.rest(), b"", "{}", start.escape_ascii());
    }
    server.log_has("broken header while reading PROXY protocol, client: 127.0.0.1");
}

#[test]
fn real_address_is_found_on_the_short_way_too() {
    let site = Cached {
        server: "fastcgi_cache_valid 1h; set_real_ip_from 127.0.0.1; add_header X-IP $remote_addr;",
        ..Cached::default()
    };
    let (server, origin) = site.start(|call| call.answer("Content-Type: text/plain", "page"));
    for client in ["192.0.2.1", "192.0.2.2", "192.0.2.3"] {
        let answer = server.fetch(&Request::get("/").field("X-Real-IP", client));
        assert_eq!(answer.field("X-IP"), Some(client));
    }
    assert_eq!(origin.count(), 1);
}

#[test]
fn a_limit_holds_on_the_short_way_too() {
    let site = Cached {
        http: "limit_req_zone $binary_remote_addr zone=one:1m rate=1r/m;",
        server: "fastcgi_cache_valid 1h; location /free { fastcgi_pass @ORIGIN@; } limit_req zone=one burst=2 nodelay;",
        ..Cached::default()
    };
    let (server, _origin) = site.start(|call| call.answer("Content-Type: text/plain", "page"));
    let statuses: Vec<u16> = (0..5).map(|_| server.get("/").status).collect();
    assert_eq!(statuses, [200, 200, 200, 503, 503]);
}

#[test]
fn what_a_visitor_has_used_up_outlives_a_reload() {
    let configuration = |text: &str, key: &str| {
        format!(
            "limit_req_zone {key} zone=one:1m rate=1r/m;
             server {{ listen 127.0.0.1:@PORT@; root @DIR@/html;
             location /limited {{ limit_req zone=one; try_files /page =404; }}
             location /version {{ return 200 {text}; }} }}"
        )
    };
    let place = Place::new();
    place.write("html/page", "page");
    let server = Server::start(place, &configuration("one", "$binary_remote_addr"));
    assert_eq!(server.get("/limited").status, 200);
    assert_eq!(server.get("/limited").status, 503);
    server.reload(&configuration("two", "$binary_remote_addr"));
    wait_for("the second configuration", || server.get("/version").text() == "two");
    assert_eq!(server.get("/limited").status, 503);
    // A different key requires a new table.
    server.reload(&configuration("three", "$remote_addr"));
    wait_for("the third configuration", || server.get("/version").text() == "three");
    assert_eq!(server.get("/limited").status, 200);
}

#[test]
fn a_limit_of_connections_holds_across_workers() {
    let (origin, gate) = Origin::start_held("late");
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let http = "limit_conn_zone $server_name zone=all:1m;
        server { listen 127.0.0.1:@PORT@; server_name localhost; location / { limit_conn all 3; @PARAMS@ fastcgi_pass @ORIGIN@; } }";
    let server = Server::start_with(place, "worker_processes 3;", http);
    let mut under_way: Vec<Client> = (0..3).map(|_| server.connect()).collect();
    for client in &mut under_way {
        client.send(request("/"));
    }
    origin.wait_for(3);
    for _ in 0..12 {
        assert_eq!(server.get("/").status, 503);
    }
    gate.open();
    for client in &mut under_way {
        assert_eq!(client.answer().text(), "late");
    }
    wait_for("places to come back", || server.get("/").status == 200);
}

#[test]
fn a_client_that_hangs_up_gives_its_place_back() {
    let (origin, gate) = Origin::start_held("late");
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let http = "limit_conn_zone $server_name zone=all:1m;
        server { listen 127.0.0.1:@PORT@; server_name localhost; location / { limit_conn all 1; @PARAMS@ fastcgi_pass @ORIGIN@; }
        location /free { limit_conn all 1; return 200; } }";
    let server = Server::start(place, http);
    let mut client = server.connect();
    client.send(request("/"));
    origin.wait_for(1);
    drop(client);
    gate.open();
    wait_for("the place", || server.get("/").status == 200);
}

#[test]
fn slow_hashes_do_not_hold_up_other_visitors() {
    let place = Place::new();
    // Salt and hash match no password: every attempt is computed.
    place.write("users", "ann:$2y$12$abcdefghijklmnopqrstuughE8Ev8uGFaUgY2cNEySvxngrb/Jzdm\n");
    place.write("html/index.html", "front");
    let http = "server { listen 127.0.0.1:@PORT@; root @DIR@/html;
        location /closed { auth_basic closed; auth_basic_user_file users; } }";
    let server = Server::start_with(place, "worker_processes 1;", http);
    let mut attempts: Vec<Client> = (0..3).map(|_| server.connect()).collect();
    for attempt in &mut attempts {
        attempt.send(Request::get("/closed").field("Authorization", "Basic YW5uOndyb25n").bytes());
    }
    // The only guarantee is that a response arrives while the hashes are being computed.
    assert_eq!(server.get("/").text(), "front");
    for attempt in &mut attempts {
        let answer = attempt.answer();
        assert_eq!(answer.status, 401);
        assert_eq!(answer.field("WWW-Authenticate"), Some("Basic realm=\"closed\""));
    }
}

#[test]
fn a_password_file_is_read_as_it_is_now() {
    let place = Place::new();
    place.write("users", "ann:{PLAIN}one\n");
    place.write("html/index.html", "front");
    let http = "server { listen 127.0.0.1:@PORT@; root @DIR@/html;
        auth_basic closed; auth_basic_user_file users; }";
    let server = Server::start(place, http);
    // ann:one, ann:two
    let with = |basic: &str| server.fetch(&Request::get("/").field("Authorization", basic)).status;
    assert_eq!((with("Basic YW5uOm9uZQ=="), with("Basic YW5uOnR3bw==")), (200, 401));
    server.write("users", "ann:{PLAIN}two\n");
    assert_eq!((with("Basic YW5uOm9uZQ=="), with("Basic YW5uOnR3bw==")), (401, 200));
    std::fs::remove_file(server.path("users")).expect("the password file");
    assert_eq!(with("Basic YW5uOnR3bw=="), 403);
}

#[test]
fn connections_are_counted_in_the_state_they_are_in() {
    let place = Place::new();
    place.write("html/page", "page".repeat(250));
    let http = "server { listen 127.0.0.1:@PORT@; root @DIR@/html;
        location /status { stub_status; } location /page { limit_rate 1; } }";
    let server = Server::start_with(place, "worker_processes 3;", http);
    let counts = |what: &str, wanted: &str| {
        let mut last = String::new();
        wait_for(what, || {
            last = server.get("/status").text().lines().last().unwrap_or_default().to_owned();
            last.trim() == wanted
        });
    };
    let mut idle: Vec<Client> = (0..4).map(|_| server.connect()).collect();
    counts("waiting", "Reading: 0 Writing: 1 Waiting: 4");
    idle[0].send("GET /page HTTP/1.1\r\n");
    idle[1].send("GET /page HTTP/1.1\r\n");
    counts("reading", "Reading: 2 Writing: 1 Waiting: 2");
    idle[0].send("Host: a\r\n\r\n");
    counts("writing", "Reading: 1 Writing: 2 Waiting: 2");
    drop(idle);
    counts("the end", "Reading: 0 Writing: 1 Waiting: 0");
}

#[test]
fn shortcut_hit_is_refused_to_visitors_with_foreign_referer() {
    let site = Cached {
        server: "fastcgi_cache_valid 1h; valid_referers none site.test; if ($invalid_referer) { return 403; }",
        ..Cached::default()
    };
    let (server, origin) = site.start(|call| call.answer("Content-Type: text/plain", "page"));
    let from = |referer: &str| server.fetch(&Request::get("/").field("Referer", referer)).status;
    for _ in 0..3 {
        assert_eq!(server.get("/").status, 200);
        assert_eq!(from("http://site.test/"), 200);
        assert_eq!(from("http://evil.test/"), 403);
    }
    assert_eq!(origin.count(), 1);
}

/// Checks only the guarantee of a delay: its minimum duration.
#[test]
fn a_wrong_password_and_a_fast_visitor_are_held_back() {
    let place = Place::new();
    place.write("users", "ann:{PLAIN}one\n");
    place.write("html/page", "page");
    let http = "limit_req_zone $binary_remote_addr zone=one:1m rate=4r/s;
        server { listen 127.0.0.1:@PORT@; root @DIR@/html;
        location /closed { auth_basic closed; auth_basic_user_file users; auth_delay 200ms; try_files /page =404; }
        location /limited { limit_req zone=one burst=5; try_files /page =404; } }";
    let server = Server::start(place, http);
    let began = Instant::now();
    assert_eq!(server.get("/closed").status, 401);
    assert!(began.elapsed() >= Duration::from_millis(200));
    let began = Instant::now();
    for _ in 0..3 {
        assert_eq!(server.get("/limited").text(), "page");
    }
    assert!(began.elapsed() >= Duration::from_millis(490), "{:?}", began.elapsed());
}

#[test]
fn balancer_on_a_unix_socket_is_trusted_by_that_name_alone() {
    let http = "server { listen 127.0.0.1:@PORT@; listen unix:@DIR@/http.sock proxy_protocol;
        real_ip_header proxy_protocol;
        location /doubted { set_real_ip_from 127.0.0.1; return 200 $remote_addr; add_header X-IP $remote_addr; }
        location /believed { set_real_ip_from unix:; allow 192.0.2.1; deny all; try_files /page =404; } }";
    let place = Place::new();
    place.write("html/page", "page");
    let server = Server::start(place, &format!("root @DIR@/html; {http}"));
    let ask = |client: &str, target: &str| {
        let mut socket = UnixStream::connect(server.path("http.sock")).expect("the socket listens");
        write!(socket, "PROXY TCP4 {client} 192.0.2.2 1 2\r\nGET {target} HTTP/1.0\r\nHost: a\r\n\r\n")
            .expect("sent");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).expect("an answer");
        answer
    };
    let doubted = ask("192.0.2.1", "/doubted");
    assert!(doubted.contains("X-IP: unix:") && doubted.ends_with("unix:"), "{doubted}");
    assert!(ask("192.0.2.1", "/believed").starts_with("HTTP/1.1 200"));
    assert!(ask("192.0.2.9", "/believed").starts_with("HTTP/1.1 403"));
    // The other address of the server does not use the PROXY protocol.
    assert_eq!(server.get("/doubted").text(), "127.0.0.1");
}
