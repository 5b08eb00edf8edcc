//! Body filters: while the body arrives, from the cache, and for any size.

use std::io::Read;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use myriad_tests::{Cached, Client, Gate, Origin, Place, Request, Server};

fn filtered(origin: &Origin, server: &str) -> Server {
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let http = format!(
        "server {{ listen 127.0.0.1:@PORT@; root @DIR@/html; @PARAMS@ fastcgi_read_timeout 20s; {server}
         location / {{ fastcgi_pass @ORIGIN@; }} }}"
    );
    Server::start(place, &http)
}

/// Returns the text that can be decoded from the bytes of a chunked gzip body so far.
fn text_so_far(mut chunked: &[u8]) -> String {
    let mut packed = Vec::new();
    while let Some(end) = chunked.windows(2).position(|pair| pair == b"\r\n") {
        let size =
            std::str::from_utf8(&chunked[..end]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.expect("a chunk's size");
        let rest = &chunked[end + 2..];
        packed.extend_from_slice(&rest[..size.min(rest.len())]);
        chunked = rest.get(size + 2..).unwrap_or_default();
    }
    let mut text = Vec::new();
    let mut decoder = MultiGzDecoder::new(&packed[..]);
    let mut byte = [0];
    while let Ok(1) = decoder.read(&mut byte) {
        text.push(byte[0]);
    }
    String::from_utf8(text).expect("text")
}

fn read_until(client: &mut Client, bytes: &mut Vec<u8>, wanted: &str) {
    while !text_so_far(bytes).contains(wanted) {
        let piece = client.some();
        assert!(!piece.is_empty(), "the answer ends before \"{wanted}\"");
        bytes.extend(piece);
    }
}

#[test]
fn what_has_come_passes_all_filters_while_the_origin_pauses() {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let origin = Origin::start(move |call| {
        call.answer("Content-Type: text/html", "one needle, half a nee");
        held.pass();
        call.send("dle, the end");
    });
    let server = filtered(
        &origin,
        "gzip on; gzip_min_length 0; sub_filter needle haystack; sub_filter_once off;
         charset utf-8; fastcgi_buffering off;",
    );
    let mut client = server.connect();
    client.send(Request::get("/").field("Accept-Encoding", "gzip").bytes());
    assert_eq!(client.head().field("Content-Encoding"), Some("gzip"));
    let mut bytes = Vec::new();
    read_until(&mut client, &mut bytes, "one haystack, half a ");
    assert!(!text_so_far(&bytes).contains("nee"), "bytes that may start a match are not sent yet");
    gate.open();
    read_until(&mut client, &mut bytes, "half a haystack, the end");
}

#[test]
fn stored_page_is_filtered_for_each_visitor() {
    let site = Cached {
        key: "$uri",
        server: "fastcgi_cache_valid 1h; gzip on; sub_filter_types text/plain; sub_filter_last_modified on;
                 sub_filter NAME $arg_name;",
        ..Cached::default()
    };
    let (server, origin) = site.start(|call| {
        let text = format!("Dear NAME, {}", "this is one page for all. ".repeat(100));
        call.answer("Content-Type: text/plain\nETag: \"page\"", text);
    });
    for (name, status) in [("Ann", "MISS"), ("Bob", "HIT"), ("Ann", "HIT")] {
        for coding in [None, Some("gzip")] {
            let request = Request::get(&format!("/?name={name}"));
            let request = match coding {
                Some(coding) => request.field("Accept-Encoding", coding),
                None => request,
            };
            let answer = server.fetch(&request);
            assert_eq!(answer.field("Content-Encoding"), coding, "{answer:?}");
            assert!(answer.text().starts_with(&format!("Dear {name}, this")), "{answer:?}");
            assert!(answer.field("ETag").is_none_or(|tag| tag.starts_with("W/")), "{answer:?}");
            if coding.is_none() {
                assert_eq!(answer.field("X-Cache"), Some(status));
            }
        }
    }
    assert_eq!(origin.count(), 1);
}

#[test]
fn long_body_comes_through_whole() {
    let line = "0123456789 needle abcdefghijklmnopqrstuvwxyz\n";
    let origin = Origin::start(move |call| {
        call.answer("Content-Type: text/html", line.repeat(200_000));
    });
    let server =
        filtered(&origin, "sub_filter needle N; sub_filter_once off; add_trailer X-End $body_bytes_sent;");
    let answer = server.get("/");
    assert_eq!(answer.text(), line.replace("needle", "N").repeat(200_000));
    assert!(answer.field("X-End").is_some(), "a trailer follows");
}
