//! SCGI: a server that parses requests according to the protocol specification.
//!
//! covers: scgi_pass scgi_param scgi_cache scgi_cache_path scgi_cache_key scgi_cache_valid

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use myriad_tests::{Place, Request, Server};

/// Reads one request: the pairs of its netstring, and the body with the length of the first pair.
fn read(stream: &mut TcpStream) -> io::Result<(Vec<String>, Vec<u8>)> {
    let mut length = 0;
    loop {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        match byte[0] {
            b':' => break,
            digit => length = length * 10 + usize::from(digit - b'0'),
        }
    }
    let mut pairs = vec![0; length + 1];
    stream.read_exact(&mut pairs)?;
    assert_eq!(pairs.pop(), Some(b','));
    let words = String::from_utf8(pairs).expect("text");
    let words: Vec<String> = words.split_terminator('\0').map(str::to_owned).collect();
    assert_eq!(words[0], "CONTENT_LENGTH");
    let mut body = vec![0; words[1].parse().expect("a length")];
    stream.read_exact(&mut body)?;
    Ok((words, body))
}

/// Starts a server that counts its requests, and responds with the pairs and the length of the body.
fn start(place: &mut Place) -> Arc<AtomicUsize> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    place.set("ORIGIN", &listener.local_addr().expect("an address").to_string());
    let count = Arc::new(AtomicUsize::new(0));
    let asked = Arc::clone(&count);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let Ok((words, body)) = read(&mut stream) else { continue };
            asked.fetch_add(1, Ordering::SeqCst);
            let text = format!("Status: 202 Taken\r\n\r\n{} {}", words[2..].join(" "), body.len());
            let _ = stream.write_all(text.as_bytes());
            let _ = stream.shutdown(Shutdown::Write);
        }
    });
    count
}

#[test]
fn a_request_is_a_netstring_and_a_body() {
    let mut place = Place::new();
    start(&mut place);
    let http = "server { listen 127.0.0.1:@PORT@; scgi_param A $arg_a; scgi_param SCGI 1;
         scgi_param CONTENT_LENGTH 7; scgi_pass_request_headers off;
         location / { scgi_pass @ORIGIN@; }
         location /streamed { scgi_request_buffering off; scgi_pass @ORIGIN@; } }";
    let server = Server::start(place, http);
    let answer = server.fetch(&Request::get("/?a=b"));
    assert_eq!((answer.status, answer.text().as_str()), (202, "SCGI 1 A b 0"));
    for target in ["/", "/streamed"] {
        let answer = server.fetch(&Request::post(target, "x".repeat(100_000)));
        assert_eq!((answer.status, answer.text().as_str()), (202, "SCGI 1 A  100000"));
    }
}

#[test]
fn answers_are_cached() {
    let mut place = Place::new();
    let count = start(&mut place);
    let http = "scgi_cache_path @DIR@/zone keys_zone=z:1m; server { listen 127.0.0.1:@PORT@; location / {
         scgi_cache z; scgi_cache_key $uri; scgi_cache_valid any 1m; scgi_cache_valid 202 1m; scgi_pass @ORIGIN@; } }";
    let server = Server::start(place, http);
    for _ in 0..3 {
        assert_eq!(server.fetch(&Request::get("/")).status, 202);
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
}
