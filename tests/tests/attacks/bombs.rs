//! Decompression bombs: origin responses that expand to a multiple of their size, in every filter that decompresses.

use std::io::Write;
use std::sync::Arc;

use myriad_tests::{Client, HttpOrigin, Place, Request, Server};

/// Returns 48 MB of one letter, compressed to 48 KB.
fn bomb() -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let piece = vec![b'a'; 1 << 20];
    for _ in 0..LENGTH >> 20 {
        encoder.write_all(&piece).expect("memory");
    }
    encoder.finish().expect("memory")
}

const LENGTH: usize = 48 << 20;

/// Returns the peak memory of a server's worker process, in MB.
fn memory_peak(server: &Server) -> usize {
    let worker = server.workers()[0];
    let status = std::fs::read_to_string(format!("/proc/{worker}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak memory");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("kilobytes") >> 10
}

#[test]
fn bombs_of_gzip_are_unpacked_a_window_at_a_time_in_every_filter() {
    let packed = Arc::new(bomb());
    let origin = HttpOrigin::start(move |call| {
        call.answer("HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Encoding: gzip", &*packed);
    });
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let http = "server { listen 127.0.0.1:@PORT@;
        location /gunzip { gunzip on; proxy_pass http://@ORIGIN@; }
        location /sub { gunzip on; sub_filter aaab b; sub_filter_once off; proxy_pass http://@ORIGIN@; }
        location /ssi { gunzip on; ssi on; proxy_pass http://@ORIGIN@; }
        location /add { gunzip on; addition_types *; add_after_body /none; proxy_pass http://@ORIGIN@; } }";
    let server = Server::start(place, http);
    let before = memory_peak(&server);
    for target in ["/gunzip", "/sub", "/ssi", "/add"] {
        // One client reads nothing, the other reads a few megabytes.
        let mut stalled = Client::connect(server.port);
        stalled.send(Request::get(target).bytes());
        assert_eq!(stalled.head().status, 200, "{target}");
        let mut reader = Client::connect(server.port);
        reader.send(Request::get(target).bytes());
        assert_eq!(reader.head().status, 200, "{target}");
        let mut letters = 0;
        while letters < 2 << 20 {
            let piece = reader.some();
            assert!(!piece.is_empty(), "{target} ends after {letters} bytes");
            letters += piece.split(|byte| *byte != b'a').map(<[u8]>::len).sum::<usize>();
        }
        let grown = memory_peak(&server).saturating_sub(before);
        assert!(grown < 24, "{target}: {grown} MB more");
    }
}
