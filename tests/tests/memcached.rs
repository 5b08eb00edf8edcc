//! Real memcached whose values are responses.
//!
//! covers: memcached_pass memcached_gzip_flag memcached_next_upstream

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use myriad_tests::{Place, Request, Server, Signal, signal, wait_for};

/// Running server; killed on drop.
struct Memcached {
    child: Child,
    socket: std::path::PathBuf,
}

impl Memcached {
    fn start(place: &mut Place) -> Self {
        let socket = place.folder().join("memcached.sock");
        place.set("MEMCACHED", &format!("unix:{}", socket.display()));
        let mut command = Command::new("memcached");
        command.args(["-u", "root", "-a", "0777", "-I", "4m", "-s"]).arg(&socket);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("the server of the package memcached");
        wait_for("memcached", || UnixStream::connect(&socket).is_ok());
        Self { child, socket }
    }

    /// Stores a value with the text protocol.
    fn set(&self, key: &str, flags: u32, value: &[u8]) {
        let mut stream = UnixStream::connect(&self.socket).expect("a connection");
        let command = format!("set {key} {flags} 0 {}\r\n", value.len());
        stream.write_all(&[command.as_bytes(), value, b"\r\n"].concat()).expect("written");
        let mut said = [0; 8];
        stream.read_exact(&mut said).expect("an answer");
        assert_eq!(&said, b"STORED\r\n");
    }

    /// Returns the number of accepted connections.
    fn connections(&self) -> u64 {
        let mut stream = UnixStream::connect(&self.socket).expect("a connection");
        stream.write_all(b"stats\r\nquit\r\n").expect("written");
        let mut told = String::new();
        stream.read_to_string(&mut told).expect("read");
        let line = told.lines().find_map(|line| line.strip_prefix("STAT total_connections "));
        line.expect("the count").parse().expect("a number")
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        signal(self.child.id(), Signal::TERM);
        let _ = self.child.wait();
    }
}

#[test]
fn values_are_answers_and_what_is_not_there_is_made_by_the_application() {
    let mut place = Place::new();
    let memcached = Memcached::start(&mut place);
    let http = "upstream kept { server @MEMCACHED@; keepalive 4; }
         server { listen 127.0.0.1:@PORT@; default_type text/none;
         location / { set $memcached_key $uri?$args; memcached_pass kept; memcached_gzip_flag 2;
             error_page 404 502 = @application; }
         location = /plain { set $memcached_key a; memcached_pass @MEMCACHED@; }
         location = /empty { set $memcached_key \"\"; memcached_pass @MEMCACHED@; }
         location @application { return 201 made; } }";
    let server = Server::start(place, http);
    let large: Vec<u8> = (0..3_000_000_u32).map(|number| (number >> 3) as u8).collect();
    memcached.set("/page.html?", 0, b"a page");
    memcached.set("/a%20b%25?c=d%0D", 0, b"escaped");
    memcached.set("/large?", 0, &large);
    memcached.set("/trailer?", 0, b"in it\r\nEND\r\n");
    memcached.set("/zipped.css?", 2, b"any bytes");

    let page = server.fetch(&Request::get("/page.html"));
    assert_eq!((page.status, page.text().as_str()), (200, "a page"));
    assert_eq!((page.field("Content-Type"), page.field("Content-Length")), (Some("text/html"), Some("6")));
    let zipped = server.fetch(&Request::get("/zipped.css"));
    assert_eq!((zipped.field("Content-Encoding"), zipped.field("Content-Length")), (Some("gzip"), Some("9")));
    assert!(server.fetch(&Request::get("/large")).body == large, "the large value");
    assert_eq!(server.fetch(&Request::get("/trailer")).text(), "in it\r\nEND\r\n");
    let head = server.fetch(&Request::new("HEAD", "/page.html"));
    assert_eq!((head.status, head.field("Content-Length")), (200, Some("6")));

    assert_eq!(server.fetch(&Request::get("/none")).text(), "made");
    // Longer than the maximum length of a key: an error of memcached.
    assert_eq!(server.fetch(&Request::get(&format!("/{}", "x".repeat(300)))).text(), "made");
    assert_eq!(server.fetch(&Request::get("/plain")).status, 404);
    assert_eq!(server.fetch(&Request::get("/empty")).status, 500);
    assert_eq!(server.fetch(&Request::post("/page.html", "text")).status, 405);
}

#[test]
fn idle_memcached_connections_are_reused() {
    let mut place = Place::new();
    let memcached = Memcached::start(&mut place);
    let http = "upstream kept { server @MEMCACHED@; keepalive 4; }
         server { listen 127.0.0.1:@PORT@; location / { set $memcached_key $uri; memcached_pass kept; } }";
    let server = Server::start(place, http);
    memcached.set("/a", 0, b"a page");
    let before = memcached.connections();
    for number in 0..20 {
        let (target, status) = if number % 3 == 0 { ("/none", 404) } else { ("/a", 200) };
        assert_eq!(server.fetch(&Request::get(target)).status, status);
    }
    // One connection of the server, and the connection of this query.
    assert_eq!(memcached.connections() - before, 2);
}
