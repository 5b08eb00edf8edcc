//! HTTP/2 connection to an upstream: the result does not depend on the pieces, and only whole frames are sent.
#![no_main]

use std::io::IoSlice;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use myriad_http::Method;
use myriad_http::h2::client::{Http2Client, OriginEvent};

const FIELDS: [(&[u8], &[u8]); 4] =
    [(b":method", b"GET"), (b":scheme", b"http"), (b":path", b"/"), (b":authority", b"a.example")];

/// Returns responses as text, and sent bytes.
fn run(input: &[u8], step: usize) -> (Vec<String>, Vec<u8>) {
    let mut client = Http2Client::new(1000);
    let mut seen = Vec::new();
    for method in [Method::Get, Method::Post, Method::Head] {
        let id = client.open(method, FIELDS, method != Method::Post, 4096).expect("room");
        client.send(id, Bytes::from_static(&[b'x'; 3000]), id % 4 == 1);
    }
    client.schedule(usize::MAX);
    let (mut at, mut end) = (0, step.min(input.len()));
    loop {
        let Ok(got) = client.receive(&input[at..end]) else { break };
        at += got.consumed;
        match got.event {
            OriginEvent::Partial if end == input.len() => break,
            OriginEvent::Partial => {
                end = (end + step).min(input.len());
                continue;
            }
            OriginEvent::Nothing => {}
            OriginEvent::Data { stream, data, end } => {
                assert!(data.end <= got.consumed);
                client.release(stream, data.len());
                seen.push(format!("{stream} {} {end}", data.len()));
            }
            other => seen.push(format!("{other:?}")),
        }
        while let Some((stream, lost)) = client.next_failed() {
            seen.push(format!("{stream} {lost:?}"));
            if client.has_room() {
                client.open(Method::Get, FIELDS, true, 100);
            }
        }
        assert!(client.streams() <= 256);
        client.schedule(usize::MAX);
    }
    (seen, drain(&mut client))
}

fn drain(client: &mut Http2Client) -> Vec<u8> {
    let output = client.output();
    let mut bytes = Vec::new();
    while !output.is_empty() {
        let mut slices = [IoSlice::new(&[]); 4];
        let count = output.slices(&mut slices);
        let stretch: Vec<u8> = slices[..count].iter().flat_map(|slice| slice.iter().copied()).collect();
        output.advance(stretch.len());
        bytes.extend(stretch);
    }
    bytes
}

fn assert_whole_frames(bytes: &[u8]) {
    let mut bytes = bytes.strip_prefix(myriad_http::h2::PREFACE).expect("the preface comes first");
    while let Some((header, rest)) = bytes.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        assert!(length <= 16_384);
        bytes = &rest[length..];
    }
    assert!(bytes.is_empty());
}

fuzz_target!(|input: (u8, &[u8])| {
    let (step, frames) = input;
    let input = [&[0, 0, 0, 4, 0, 0, 0, 0, 0], frames].concat();
    let whole = run(&input, input.len());
    assert_eq!(run(&input, usize::from(step).max(1)), whole);
    assert_whole_frames(&whole.1);
});
