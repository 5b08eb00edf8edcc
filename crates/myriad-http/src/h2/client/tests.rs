//! Tests of the client with hand-written frames of an origin, and with the server of this crate.

mod client_and_server;
mod floods;
mod liveness;
mod random_input;
mod rules;

use std::io::IoSlice;

use super::*;
use crate::Method;
use crate::h2::frame::flag;

const GET: [(&[u8], &[u8]); 4] =
    [(b":method", b"GET"), (b":scheme", b"http"), (b":path", b"/"), (b":authority", b"a.example")];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let header = FrameHeader { length: payload.len(), kind, flags, stream };
    [&header.bytes()[..], payload].concat()
}

/// Encodes a header block of literal fields.
fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        out.push(0);
        for text in [name, value] {
            out.push(text.len() as u8);
            out.extend_from_slice(text.as_bytes());
        }
    }
    out
}

fn head(stream: u32, end: bool, fields: &[(&str, &str)]) -> Vec<u8> {
    let end = if end { flag::END_STREAM } else { 0 };
    frame(kind::HEADERS, flag::END_HEADERS | end, stream, &block(fields))
}

fn data(stream: u32, end: bool, payload: &[u8]) -> Vec<u8> {
    frame(kind::DATA, if end { flag::END_STREAM } else { 0 }, stream, payload)
}

fn reset(stream: u32, code: ErrorCode) -> Vec<u8> {
    frame(kind::RST_STREAM, 0, stream, &(code as u32).to_be_bytes())
}

fn goaway(last: u32) -> Vec<u8> {
    frame(kind::GOAWAY, 0, 0, &[&last.to_be_bytes()[..], &[0; 4]].concat())
}

/// Returns a client that has exchanged prefaces with an origin, with empty output.
fn greeted() -> Http2Client {
    let mut client = Http2Client::new(1000);
    feed(&mut client, &frame(kind::SETTINGS, 0, 0, &[])).expect("settings");
    take(&mut client);
    client
}

fn ask(client: &mut Http2Client) -> u32 {
    client.open(Method::Get, GET, true, 4096).expect("room")
}

fn post(client: &mut Http2Client) -> u32 {
    client.open(Method::Post, GET, false, 4096).expect("room")
}

/// Passes `input`, which consists of whole frames, to the client. Returns the events except `Nothing`, as text.
fn feed(client: &mut Http2Client, mut input: &[u8]) -> Result<Vec<String>, ErrorCode> {
    let mut all = Vec::new();
    while !input.is_empty() {
        let OriginInput { consumed, event: answered } = client.receive(input).map_err(|error| error.code)?;
        match answered {
            OriginEvent::Partial => panic!("the input ends within a frame"),
            OriginEvent::Nothing => {}
            OriginEvent::Head { stream, head, end } => all.push(format!("{stream} {} {end}", head.status)),
            OriginEvent::Data { stream, data, end } => {
                let data = String::from_utf8_lossy(&input[data]);
                all.push(format!("{stream} \"{data}\" {end}"));
            }
            OriginEvent::Trailers { stream, fields } => {
                all.push(format!("{stream} trailers {}", fields.len()));
            }
        }
        input = &input[consumed..];
    }
    Ok(all)
}

fn lost(client: &mut Http2Client) -> Vec<(u32, RequestFailure)> {
    std::iter::from_fn(|| client.next_failed()).collect()
}

/// Returns and removes all bytes to send.
fn take(client: &mut Http2Client) -> Vec<u8> {
    client.schedule(usize::MAX);
    drain(client.output())
}

fn drain(output: &mut OutputQueue) -> Vec<u8> {
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

/// Returns the type and stream of each frame.
fn kinds(mut bytes: &[u8]) -> Vec<(u8, u32)> {
    let mut all = Vec::new();
    while let Some(header) = FrameHeader::read(bytes) {
        all.push((header.kind, header.stream));
        bytes = &bytes[FRAME_HEADER + header.length..];
    }
    all
}
