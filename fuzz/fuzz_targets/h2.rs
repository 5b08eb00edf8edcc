//! HTTP/2 connection: the result does not depend on the pieces, and only whole frames are sent.
#![no_main]

use std::io::IoSlice;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use myriad_http::RequestHead;
use myriad_http::h2::{ClientEvent, Http2Server, Http2ServerConfig, PREFACE};

/// Returns received events as text, and sent bytes.
fn run(input: &[u8], step: usize) -> (Vec<String>, Vec<u8>) {
    let mut connection = Http2Server::new(Http2ServerConfig::default());
    let mut head = RequestHead::new();
    let mut seen = Vec::new();
    let (mut at, mut end) = (0, step.min(input.len()));
    loop {
        let Ok(got) = connection.receive(&input[at..end], &mut head) else { break };
        at += got.consumed;
        match got.event {
            ClientEvent::Partial if end == input.len() => break,
            ClientEvent::Partial => end = (end + step).min(input.len()),
            ClientEvent::Nothing => {}
            ClientEvent::Request { stream, end, malformed } => {
                seen.push(format!("{stream} {end} {malformed:?} {head:?}"));
                connection.respond(stream, 200, head.fields().iter().take(3), stream % 3 == 0);
                connection.send(stream, Bytes::from_static(&[b'x'; 3000]), true);
            }
            ClientEvent::Data { stream, data, end } => {
                assert!(data.end <= got.consumed);
                connection.release(stream, data.len());
                seen.push(format!("{stream} {} {end}", data.len()));
            }
            other => seen.push(format!("{other:?}")),
        }
        connection.schedule(usize::MAX);
    }
    (seen, drain(&mut connection))
}

fn drain(connection: &mut Http2Server) -> Vec<u8> {
    let output = connection.output();
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

fn assert_whole_frames(mut bytes: &[u8]) {
    while let Some((header, rest)) = bytes.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        assert!(length <= 16_384);
        bytes = &rest[length..];
    }
    assert!(bytes.is_empty());
}

fuzz_target!(|input: (u8, &[u8])| {
    let (step, frames) = input;
    let input = [PREFACE, &[0, 0, 0, 4, 0, 0, 0, 0, 0], frames].concat();
    let whole = run(&input, input.len());
    assert_eq!(run(&input, usize::from(step).max(1)), whole);
    assert_whole_frames(&whole.1);
});
