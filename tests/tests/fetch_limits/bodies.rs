//! Bodies in transit: decompressed, unread, in files, too large for memory.
//!
//! covers: client_body_temp_max_size

use std::io::Write;
use std::sync::Arc;
use std::thread;

use myriad_tests::{Cached, Client, Gate, Request, Server, wait_for};

use super::{holding, one_child};

/// Returns the peak memory of a server's worker process, in MB.
fn memory_peak(server: &Server) -> usize {
    let worker = server.workers()[0];
    let status = std::fs::read_to_string(format!("/proc/{worker}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak memory");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("kilobytes") >> 10
}

/// Directives that cause origin bodies to be decoded: other types are forwarded in the coding of the origin.
const COMPRESSED: &str = "fastcgi_cache_valid 200 1h; gzip on; gzip_types application/x-zeros;";

/// Returns gzip data that decompresses to `length` zeros.
fn bomb(length: usize) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&vec![0; length]).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn bodies_that_are_unpacked_are_held_within_the_bounds_of_their_zone() {
    const LENGTH: usize = 24 << 20;
    let packed = bomb(LENGTH);
    let site = Cached { zone: "memory=16m", server: COMPRESSED, ..Cached::default() };
    let (server, _origin) = site.start(move |call| {
        call.answer("Content-Type: application/x-zeros\nContent-Encoding: gzip", &packed);
    });
    let before = memory_peak(&server);
    let targets: Vec<_> = (0..12).map(|number| format!("/{number}")).collect();
    let clients = targets.iter().map(|target| {
        let (port, request) = (server.port, Request::get(target));
        thread::spawn(move || {
            let mut client = Client::connect(port);
            client.send(request.bytes());
            assert_eq!(client.head().status, 200);
            // Reads to the end without storing the body here.
            let mut zeros = 0;
            while zeros < LENGTH {
                let piece = client.some();
                assert!(!piece.is_empty(), "cut after {zeros} bytes");
                zeros += piece.split(|byte| *byte != 0).map(<[u8]>::len).sum::<usize>();
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.join().expect("a whole body");
    }
    let grown = memory_peak(&server) - before;
    // The 16 MB of the zone, and the memory of sockets, allocator and decoders.
    assert!(grown < 48, "{grown} MB more");
}

#[test]
fn unread_bodies_stay_within_bounds_of_their_zone() {
    let packed = bomb(24 << 20);
    let site = Cached { zone: "memory=16m", server: COMPRESSED, ..Cached::default() };
    let (server, origin) = site.start(move |call| {
        call.answer("Content-Type: application/x-zeros\nContent-Encoding: gzip", &packed);
    });
    let before = memory_peak(&server);
    let mut stalled = Vec::new();
    for number in 0..12 {
        let mut client = server.connect();
        client.send(Request::get(&format!("/{number}")).bytes());
        assert_eq!(client.head().status, 200);
        stalled.push(client);
    }
    assert_eq!(origin.count(), 12);
    // Other clients are served in the meantime with complete responses.
    let whole = server.get("/one-more");
    assert_eq!((whole.status, whole.body.len()), (200, 24 << 20));
    let grown = memory_peak(&server) - before;
    assert!(grown < 48, "{grown} MB more");
}

#[test]
fn bodies_of_all_requests_in_files_are_bounded_together() {
    let gate = Arc::new(Gate::new());
    let rules = "client_body_buffer_size 1k; client_body_temp_max_size 100k;";
    let (server, origin) = Cached { server: rules, ..Cached::default() }.start(holding(&gate));
    let post = |target: &str| Request::post(target, vec![b'x'; 80 << 10]);
    let mut held = server.connect();
    held.send(post("/held").bytes());
    origin.wait_for(1);
    assert_eq!(server.fetch(&post("/second")).status, 503, "two bodies exceed the limit");
    server.log_has("request bodies in temporary files are limited to 102400 bytes");
    assert_eq!(server.get("/none").text(), "/none", "a request without a body is served");
    gate.open();
    assert_eq!(held.answer().status, 200);
    wait_for("room for the next body", || server.fetch(&post("/third")).status == 200);
    assert!(!origin.calls().contains(&"POST /second".to_owned()));
}

/// Longer than the socket buffers of a client that does not read.
const LONG: usize = 32 << 20;

#[test]
fn a_slow_reader_of_a_page_too_long_for_memory_holds_no_php_child() {
    let rules = "fastcgi_cache_valid 1h; location /page { fastcgi_pass php; }";
    for (zone, head) in [("", ""), ("", "Content-Length: 33554432\n"), ("max_size=1m", "")] {
        let site = Cached { zone, http: &one_child("queue 1;"), server: rules, ..Cached::default() };
        let (server, origin) = site.start(move |call| {
            let length = if call.uri() == "/page/long" { LONG } else { 4 };
            let head = if length == LONG { head } else { "" };
            call.answer(&format!("Content-Type: image/png\n{head}"), vec![b'x'; length]);
        });
        let mut slow = Client::connect(server.port);
        slow.send(Request::get("/page/long").bytes());
        wait_for("the end of the page at its origin", || origin.finished() == 1);
        assert_eq!(server.get("/page/short").text(), "xxxx", "{zone} {head}");
        let body = slow.answer().body;
        assert!(body.len() == LONG && body.iter().all(|byte| *byte == b'x'), "{zone} {head}");
    }
}
