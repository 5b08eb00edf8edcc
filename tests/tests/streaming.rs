//! Streaming of bodies in bounded memory, for any length and any speed of the reader.
//!
//! covers: proxy_request_buffering proxy_max_temp_file_size

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use myriad_tests::{Place, Server};

/// Length of a body in bytes: three times the permitted growth of the worker.
const LONG: u64 = 192 << 20;
/// Maximum growth of the worker, in bytes.
const MOST: u64 = 64 << 20;
const PIECE: usize = 1 << 20;

/// Starts an origin with a long response to GET, which reads request bodies and responds with their length.
fn origin() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || serve(&stream));
        }
    });
    address
}

fn serve(mut stream: &TcpStream) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        head.push(byte[0]);
    }
    let mut piece = vec![b'x'; PIECE];
    if head.starts_with(b"GET") {
        let said = format!("HTTP/1.1 200 OK\r\nContent-Length: {LONG}\r\n\r\n");
        let _ = stream.write_all(said.as_bytes());
        for _ in 0..LONG / PIECE as u64 {
            if stream.write_all(&piece).is_err() {
                return;
            }
        }
        return;
    }
    let mut taken = 0;
    while taken < LONG {
        match stream.read(&mut piece) {
            Ok(read @ 1..) => taken += read as u64,
            _ => return,
        }
    }
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\ntaken");
}

fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the worker");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes << 10
}

#[test]
fn long_bodies_both_ways_take_little_memory() {
    let mut place = Place::new();
    place.set("ORIGIN", &origin());
    let http = "server { listen 127.0.0.1:@PORT@; client_max_body_size 0; location / {
         proxy_pass http://@ORIGIN@; proxy_http_version 1.1; proxy_request_buffering off; proxy_max_temp_file_size 0; } }";
    let server = Server::start(place, http);
    let worker = server.workers()[0];
    let connect = || TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
    let before = resident(worker);

    let mut down = connect();
    down.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("written");
    let mut piece = vec![0; PIECE];
    let (mut come, mut most) = (0, 0);
    loop {
        let read = down.read(&mut piece).expect("read");
        if read == 0 {
            break;
        }
        come += read as u64;
        // During a pause of the reader, all data of the origin would accumulate.
        if come % (16 << 20) < read as u64 {
            thread::sleep(std::time::Duration::from_millis(50));
            most = most.max(resident(worker));
        }
    }
    assert!(come > LONG, "{come} bytes of head and body");

    let mut up = connect();
    let head =
        format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {LONG}\r\nConnection: close\r\n\r\n");
    up.write_all(head.as_bytes()).expect("written");
    for number in 0..LONG / PIECE as u64 {
        up.write_all(&piece).expect("written");
        if number % 16 == 0 {
            most = most.max(resident(worker));
        }
    }
    let mut answer = String::new();
    up.read_to_string(&mut answer).expect("read");
    assert!(answer.ends_with("taken"), "{answer}");
    assert!(most < before + MOST, "{before} bytes at rest, {most} meanwhile");
}
