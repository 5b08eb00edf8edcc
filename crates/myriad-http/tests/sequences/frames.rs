//! HTTP/2 frames, and contents of message bodies.

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;
pub(crate) const PRIORITY_UPDATE: u8 = 16;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const PADDED: u8 = 8;
pub(crate) const WITH_PRIORITY: u8 = 32;

use std::collections::BTreeMap;

use super::choices::Choices;

/// Encodes a frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Returns a header block of literal fields.
pub(crate) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
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

/// Returns `count` bytes of the body of `stream`, from position `at`.
pub(crate) fn body(stream: u32, at: u64, count: usize) -> Vec<u8> {
    (at..at + count as u64).map(|at| (at % 251) as u8 ^ (stream.wrapping_mul(31) as u8)).collect()
}

/// Returns the flags and payload for `content`, with padding in one of three cases. The padding length may exceed the
/// payload by a byte.
pub(crate) fn padded(choices: &Choices, content: &[u8]) -> (u8, Vec<u8>) {
    if !choices.once_in(3) {
        return (0, content.to_vec());
    }
    let padding = choices.below(256);
    let beyond = u8::try_from(content.len() + padding + 1).ok().filter(|_| choices.once_in(200));
    (PADDED, [&[beyond.unwrap_or(padding as u8)], content, &vec![0xee; padding]].concat())
}

/// Returns a header block in one or more frames.
pub(crate) fn headers(choices: &Choices, stream: u32, end: bool, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut fragment = block(fields);
    let rest = if choices.once_in(4) {
        let at = choices.below(fragment.len() + 1).min(fragment.len());
        fragment.split_off(at)
    } else {
        Vec::new()
    };
    let mut flags = if end { END_STREAM } else { 0 };
    if choices.once_in(8) {
        flags |= WITH_PRIORITY;
        fragment = [&(stream ^ u32::from(choices.byte())).to_be_bytes()[..], &[7], &fragment].concat();
    }
    let (padding, payload) = padded(choices, &fragment);
    if rest.is_empty() {
        return frame(HEADERS, flags | padding | END_HEADERS, stream, &payload);
    }
    let first = frame(HEADERS, flags | padding, stream, &payload);
    [first, frame(CONTINUATION, END_HEADERS, stream, &rest)].concat()
}

/// Returns a DATA frame with the next bytes of a body. `written` contains the number of body bytes sent on each stream.
pub(crate) fn data(choices: &Choices, written: &mut BTreeMap<u32, u64>, stream: u32) -> Vec<u8> {
    let at = written.entry(stream).or_default();
    let length = choices.one_of(&[0, 1, 5, 100, 3000, 16_000]);
    let content = body(stream, *at, length);
    *at += length as u64;
    let (flag, payload) = padded(choices, &content);
    let end = if choices.once_in(4) { END_STREAM } else { 0 };
    frame(DATA, flag | end, stream, &payload)
}

/// Returns a stream identifier, usually one of `known`.
pub(crate) fn stream(choices: &Choices, known: &[u32]) -> u32 {
    if choices.once_in(200) {
        return u32::from(choices.byte());
    }
    // Prefers newer streams, because older ones are finished.
    let from = if choices.once_in(2) { known.len().saturating_sub(3) } else { 0 };
    let known = &known[from..];
    if known.is_empty() { 1 } else { known[choices.below(known.len())] }
}

/// Returns the increment for a window update, rarely an invalid one.
pub(crate) fn increment(choices: &Choices) -> u32 {
    if choices.once_in(50) {
        return choices.one_of(&[0, u32::MAX >> 1]);
    }
    choices.one_of(&[1, 7, 1000, 65_535, 1 << 20])
}

/// Changes a frame: its length, type, flags or stream, or any byte.
pub(crate) fn mutate(choices: &Choices, frame: &mut Vec<u8>) {
    match choices.below(4) {
        0 => frame.truncate(choices.below(frame.len() + 1)),
        1 => frame.extend([choices.byte(), choices.byte()]),
        _ => {
            let at = choices.below(if choices.once_in(2) { 9 } else { frame.len().min(255) });
            frame[at] = choices.byte();
        }
    }
}
