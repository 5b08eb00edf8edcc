//! `client_min_rate`: heads, bodies and readers that are too slow, and clients that are slow but legitimate.
//!
//! covers: client_min_rate

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use myriad_tests::frames::{DATA, END_HEADERS, END_STREAM, HEADERS, Hand, RST_STREAM, WINDOW_UPDATE, head};
use myriad_tests::{Client, Origin, Place, Request, Server, wait_for};

/// Larger than all kernel buffers between two processes.
const LARGE: usize = 32 << 20;

fn start(rate: &str) -> (Server, Origin) {
    let origin = Origin::start(|call| {
        let length = call.body.len();
        call.answer("Content-Type: text/plain", format!("{length} bytes"));
    });
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    place.set("RATE", rate);
    place.write("html/large", vec![b'x'; LARGE]);
    let server = Server::start_with(
        place,
        "worker_processes 1; events { worker_connections 16; }",
        "access_log @DIR@/access.log; client_min_rate @RATE@; client_max_body_size 0; lingering_close off;
         client_header_timeout 1h;
         server { listen 127.0.0.1:@PORT@; http2 on; root @DIR@/html;
           location /here { return 200 here; } location /upload { fastcgi_pass @ORIGIN@; } }",
    );
    (server, origin)
}

/// A rate that is too high for an occasional byte, with a short grace period.
const STRICT: &str = "2k grace=1s";

/// Sends single bytes at intervals until the peer closes the connection.
fn trickle(client: &mut Client, byte: u8) {
    for _ in 0..1000 {
        if client.try_send([byte]).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
        if client.has_input() {
            return;
        }
    }
    panic!("the peer did not close the connection");
}

#[test]
fn head_that_trickles_in_is_answered_with_408() {
    let (server, _origin) = start(STRICT);
    let mut client = server.connect();
    client.send("GET /here HTTP/1.1\r\nHost: a\r\nX-Long: ");
    trickle(&mut client, b'x');
    assert_eq!(client.answer().status, 408);
}

#[test]
fn body_that_trickles_in_is_answered_with_408() {
    let (server, _origin) = start(STRICT);
    for head in ["Content-Length: 100000", "Transfer-Encoding: chunked"] {
        let mut client = server.connect();
        client.send(format!("POST /upload HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n"));
        if head.starts_with('T') {
            client.send("10000\r\n");
        }
        trickle(&mut client, b'x');
        assert_eq!(client.answer().status, 408, "{head}");
    }
}

#[test]
fn reader_that_takes_a_byte_now_and_then_is_reset() {
    let (server, _origin) = start(STRICT);
    let mut client = server.connect();
    client.send(Request::get("/large").bytes());
    server.log_has("client was slower than \"client_min_rate\"");
    // Data in the kernel's buffers is lost with the connection.
    let mut read = 0;
    let broken = loop {
        match client.read_some() {
            Ok(0) => break false,
            Ok(count) => read += count,
            Err(_) => break true,
        }
    };
    assert!(broken && read < LARGE, "{read} bytes");
}

/// Returns the response bytes in the kernel's buffer for the server's connection to this client port.
fn held_by_the_kernel(server: &Server, client: u16) -> u64 {
    let (own, theirs) = (format!(":{:04X}", server.port), format!(":{client:04X}"));
    let table = std::fs::read_to_string("/proc/net/tcp").expect("a table");
    let queue = table.lines().find_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let is_it = words.get(1)?.ends_with(&own) && words.get(2)?.ends_with(&theirs);
        is_it.then(|| words.get(4)?.split_once(':'))?
    });
    u64::from_str_radix(queue.expect("the connection").0, 16).expect("a number")
}

#[test]
fn kernel_buffers_little_of_unread_response() {
    let (server, _origin) = start("off");
    let mut reader = TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
    let port = reader.local_addr().expect("an address").port();
    reader.write_all(&Request::get("/large").bytes()).expect("sent");
    wait_for("the answer", || held_by_the_kernel(&server, port) > 0);
    // The only worker has filled the buffer before it serves other requests.
    for _ in 0..10 {
        assert_eq!(server.get("/here").text(), "here");
    }
    let held = held_by_the_kernel(&server, port);
    assert!(held < 1 << 20, "{held} bytes");
}

#[test]
fn slow_and_honest_clients_are_served_whole() {
    let (server, _origin) = start("1k grace=1s");
    let mut reader = server.connect();
    reader.send(Request::get("/large").bytes());
    let mut sender = server.connect();
    sender.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 30000\r\n\r\n");
    // Several seconds, in which some measurement intervals elapse.
    let mut read = 0;
    for _ in 0..30 {
        sender.send([b'x'; 1000]);
        read += reader.read_some().expect("more");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(sender.answer().text(), "30000 bytes");
    while read < LARGE {
        let count = reader.read_some().expect("more");
        assert!(count > 0, "the response ended after {read} bytes");
        read += count;
    }
}

#[test]
fn connections_that_owe_nothing_may_be_silent() {
    let (server, _origin) = start("1g grace=100ms");
    let mut idle = server.connect();
    let mut kept = server.connect();
    assert_eq!(kept.fetch(&Request::get("/here")).text(), "here");
    // Slow connections are closed in the meantime.
    let mut slow = server.connect();
    slow.send("GET / HT");
    assert_eq!(slow.answer().status, 408);
    assert_eq!(idle.fetch(&Request::get("/here")).text(), "here");
    assert_eq!(kept.fetch(&Request::get("/here")).text(), "here");
}

#[test]
fn rate_for_pressure_holds_under_pressure_alone() {
    let (server, _origin) = start("1g grace=500ms pressure");
    let mut slow = server.connect();
    slow.send("GET /here HTTP/1.1\r\nHo");
    let mut other = server.connect();
    other.send("GET /here HTTP/1.1\r\nHo");
    std::thread::sleep(Duration::from_secs(2));
    slow.send("st: a\r\n\r\n");
    assert_eq!(slow.answer().text(), "here");
    // More than three quarters of the 16 connections.
    let others: Vec<Client> = (0..12).map(|_| server.connect()).collect();
    assert_eq!(other.answer().status, 408);
    drop(others);
}

/// Opens the window of the stream by single bytes at intervals until the stream is reset.
fn open_slowly(hand: &mut Hand, stream: u32) {
    let one = 1u32.to_be_bytes();
    hand.socket.set_read_timeout(Some(Duration::from_millis(100))).expect("a time-out");
    let mut seen: Vec<u8> = Vec::new();
    for _ in 0..300 {
        if !hand.try_send(WINDOW_UPDATE, 0, stream, &one) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
        let mut piece = [0; 4096];
        match hand.socket.read(&mut piece) {
            Ok(0) => return,
            Ok(count) => seen.extend(&piece[..count]),
            Err(_) => {}
        }
        // RST_STREAM of that stream: length, type, flags, stream id.
        let reset = [&[0, 0, 4, RST_STREAM, 0][..], &stream.to_be_bytes()].concat();
        if seen.windows(reset.len()).any(|window| window == reset) {
            return;
        }
    }
    panic!("the peer did not close the connection");
}

#[test]
fn streams_whose_windows_open_bytewise_are_reset() {
    let (server, _origin) = start(STRICT);
    // SETTINGS_INITIAL_WINDOW_SIZE
    let mut hand = Hand::greet(server.port, &[(4, 0)]);
    hand.get(1, "/large", &[]);
    open_slowly(&mut hand, 1);
    server.log_has("client was slower than \"client_min_rate\"");
    assert_eq!(server.get("/here").text(), "here");
}

/// Returns the resident memory of a process, in bytes.
fn resident(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
}

/// Asserts that memory remains small if clients request several hundred megabytes in total and read one byte of each
/// response.
fn grows_little(target: &str) {
    let (server, _origin) = start("off");
    let worker = server.workers()[0];
    let before = resident(worker);
    let mut hands = Vec::new();
    for _ in 0..12 {
        let mut hand = Hand::greet(server.port, &[(4, 1)]);
        for number in 0..128 {
            hand.get(2 * number + 1, target, &[]);
        }
        for _ in 0..100 {
            hand.wait_for(DATA);
        }
        hands.push(hand);
    }
    let grown = resident(worker).saturating_sub(before);
    assert!(grown < 40 << 20, "{target}: {grown} bytes for answers that nobody takes");
    assert_eq!(server.get("/here").text(), "here");
}

#[test]
fn little_of_file_is_buffered_for_bytewise_readers() {
    grows_little("/large");
}

#[test]
fn http2_reader_that_reads_nothing_from_socket_is_reset() {
    let (server, _origin) = start(STRICT);
    let mut hand = Hand::greet(server.port, &[(4, 0x7fff_ffff)]);
    hand.send(WINDOW_UPDATE, 0, 0, &0x7fff_0000u32.to_be_bytes());
    hand.get(1, "/large", &[]);
    server.log_has("client was slower than \"client_min_rate\"");
}

#[test]
fn slowly_arriving_http2_bodies_and_heads_are_aborted() {
    let (server, _origin) = start(STRICT);
    let mut hand = Hand::greet(server.port, &[]);
    hand.send(HEADERS, END_HEADERS, 1, &head("POST", "/upload", &[("content-length", "100000")]));
    for _ in 0..20 {
        hand.try_send(DATA, 0, 1, b"x");
        std::thread::sleep(Duration::from_millis(100));
    }
    let answer = hand.wait_for(HEADERS);
    assert_eq!(answer.stream, 1);
    wait_for("408 in the access log", || server.read("access.log").contains("\" 408 "));
    // A header block that begins and is never completed.
    let mut hand = Hand::greet(server.port, &[]);
    hand.send(HEADERS, END_STREAM, 1, &head("GET", "/here", &[]));
    assert_eq!(hand.wait_for(RST_STREAM).stream, 1);
}
