//! Test of HTTP/3 streams: request streams and unidirectional streams with frames in any order, of any length, in any
//! pieces.

use myriad_http::RequestHead;
use myriad_http::h1::HeadLimits;
use myriad_http::h3::{
    ClientUniStreams, ControlEvent, QpackDecoder, QpackEncoder, RequestEvent, RequestReader, UniStreamRole,
};

use super::choices::Choices;
use super::frames::body;

const DATA: u64 = 0;
const HEADERS: u64 = 1;
const PRIORITY_UPDATE: u64 = 0xf_0700;

/// Executes a sequence.
pub(crate) fn run(choices: &Choices) {
    if choices.once_in(3) {
        one_way(choices);
    } else {
        request(choices);
    }
}

/// Appends an integer in an encoding of random valid length.
fn integer(choices: &Choices, out: &mut Vec<u8>, value: u64) {
    let least = (0..4).find(|power| value < 1 << ((8 << power) - 2)).unwrap_or(3);
    let power = least + choices.below(4 - least as usize) as u32;
    let length = 1_usize << power;
    let bytes = value.to_be_bytes();
    let start = out.len();
    out.extend_from_slice(&bytes[8 - length..]);
    out[start] |= (power as u8) << 6;
}

/// Appends a frame, sometimes with a wrong length. Returns whether the length is correct.
fn frame(choices: &Choices, out: &mut Vec<u8>, kind: u64, payload: &[u8]) -> bool {
    integer(choices, out, kind);
    let is_right = !choices.once_in(40);
    let length = if is_right {
        payload.len() as u64
    } else {
        choices.one_of(&[0, 1, 63, 64, 16_383, u64::from(u32::MAX), (1 << 62) - 1])
    };
    integer(choices, out, length);
    out.extend_from_slice(payload);
    is_right && length == payload.len() as u64
}

/// Expected result of a request stream, as far as its bytes are valid.
#[derive(Debug, Default)]
struct Expected {
    body: Vec<u8>,
    announced: Option<u64>,
    requests: usize,
    trailers: usize,
    /// True if a frame is misplaced, malformed or of a wrong length, so that any error may follow.
    is_wrong: bool,
}

fn request(choices: &Choices) {
    let mut bytes = Vec::new();
    let mut expected = Expected::default();
    while !choices.is_over() && bytes.len() < 200_000 {
        let is_right = match choices.below(8) {
            0 => fields(choices, &mut bytes, &mut expected),
            1..5 => {
                let length = choices.one_of(&[0, 1, 63, 64, 1000, 16_384]);
                let content = body(0, expected.body.len() as u64, length);
                let length_so_far = (expected.body.len() + length) as u64;
                let is_in_place = expected.requests == 1
                    && expected.trailers == 0
                    && expected.announced.is_none_or(|announced| length_so_far <= announced);
                expected.body.extend_from_slice(&content);
                frame(choices, &mut bytes, DATA, &content) && is_in_place
            }
            5 | 6 => frame(choices, &mut bytes, 0x21 + 31 * 7, &vec![0; choices.one_of(&[0, 1, 200])]),
            _ if choices.once_in(8) => {
                let kind = choices.one_of(&[2, 3, 4, 5, 6, 7, 8, 9, 13, PRIORITY_UPDATE]);
                frame(choices, &mut bytes, kind, b"u=1");
                false
            }
            _ => true,
        };
        if !is_right {
            expected.is_wrong = true;
            break;
        }
    }
    let (mut reader, mut head, mut decoder) =
        (RequestReader::new(0), RequestHead::new(), QpackDecoder::default());
    let limits = HeadLimits::default();
    let (mut content, mut requests, mut trailers) = (Vec::new(), 0, 0);
    let step = choices.one_of(&[usize::MAX, 1, 2, 3, 7, 100, 5000]);
    for piece in bytes.chunks(step.min(bytes.len().max(1))) {
        let mut rest = piece;
        loop {
            match reader.receive(&mut rest, &limits, &mut head, &mut decoder) {
                Ok(RequestEvent::Partial) => break,
                Ok(RequestEvent::Blocked) => {
                    assert!(expected.is_wrong, "blocked without references to the table");
                    reader.abandon(&mut decoder);
                    return;
                }
                Ok(RequestEvent::Data(data)) => {
                    assert!(!data.is_empty() && requests == 1 && trailers == 0);
                    content.extend_from_slice(data);
                }
                Ok(RequestEvent::Request { malformed, .. }) => {
                    requests += 1;
                    assert!(malformed.is_none() || expected.is_wrong, "{malformed:?}");
                }
                Ok(RequestEvent::Trailers) => trailers += 1,
                Err(error) => {
                    assert!(expected.is_wrong, "{error:?}");
                    reader.abandon(&mut decoder);
                    return;
                }
            }
        }
        assert!(rest.is_empty());
    }
    assert!(requests <= 1 && trailers <= 1);
    if !expected.is_wrong {
        assert_eq!((requests, trailers), (expected.requests, expected.trailers));
        assert!(content == expected.body, "another body");
        let is_complete =
            requests == 1 && expected.announced.is_none_or(|length| length == content.len() as u64);
        assert_eq!(reader.finish().is_ok(), is_complete);
    }
}

/// Appends a field section, first that of the request, then trailers. Returns whether it is valid.
fn fields(choices: &Choices, out: &mut Vec<u8>, expected: &mut Expected) -> bool {
    let (mut encoder, mut section) = (QpackEncoder::default(), Vec::new());
    QpackEncoder::begin(&mut section);
    let mut is_sound = expected.trailers == 0;
    if expected.requests == 0 {
        let is_connect = choices.once_in(8);
        let method = if is_connect { &b"CONNECT"[..] } else { b"POST" };
        for (name, value) in
            [(&b":method"[..], method), (b":scheme", b"https"), (b":path", b"/"), (b":authority", b"a")]
        {
            encoder.field(name, value, &mut section);
        }
        if is_connect {
            // Extended CONNECT (RFC 9220) is not supported.
            encoder.field(b":protocol", b"webtransport", &mut section);
            is_sound = false;
        }
        if choices.once_in(4) {
            let length = choices.one_of(&["0", "1000", "18446744073709551615"]);
            encoder.field(b"content-length", length.as_bytes(), &mut section);
            expected.announced = length.parse().ok();
            // A length must be below 2⁶³.
            is_sound &= length != "18446744073709551615";
        }
        expected.requests = 1;
    } else {
        let name = choices.one_of(&["x-checksum", "x-checksum", ":path", "content-length"]);
        encoder.field(name.as_bytes(), b"1", &mut section);
        is_sound &= name == "x-checksum";
        expected.trailers += 1;
    }
    frame(choices, out, HEADERS, &section) && is_sound
}

/// Tests a unidirectional stream: its reader must store little, and the result must not depend on how the input is
/// split.
fn one_way(choices: &Choices) {
    let mut bytes = Vec::new();
    let kind = choices.one_of(&[0, 0, 0, 1, 2, 3, 0x21]);
    integer(choices, &mut bytes, kind);
    if choices.once_in(8) {
        bytes.push(choices.byte());
    } else {
        frame(choices, &mut bytes, 4, &[6, 0x40, 0x64]);
    }
    while !choices.is_over() && bytes.len() < 100_000 {
        let mut payload = Vec::new();
        let kind =
            choices.one_of(&[PRIORITY_UPDATE, PRIORITY_UPDATE, PRIORITY_UPDATE + 1, 7, 13, 3, 0x21, 4, 0]);
        let id = choices.one_of(&[0, 4, 3, 1 << 30, (1 << 62) - 4]);
        integer(choices, &mut payload, id);
        let text = choices.one_of(&["", "u=0", "u=7, i", "i;x=\"", "u=9"]);
        payload.extend(text.repeat(choices.one_of(&[1, 1, 300])).as_bytes());
        payload.truncate(choices.one_of(&[usize::MAX, usize::MAX, usize::MAX, 0, 1]));
        frame(choices, &mut bytes, kind, &payload);
    }
    let step = choices.one_of(&[1, 2, 3, 7, 100]);
    assert_eq!(read(&bytes, step), read(&bytes, bytes.len()));
}

/// Reads a unidirectional stream and returns its events as text.
fn read(bytes: &[u8], step: usize) -> String {
    let (mut peer, mut role, mut kept, mut seen) =
        (ClientUniStreams::default(), UniStreamRole::default(), Vec::new(), String::new());
    for piece in bytes.chunks(step) {
        let mut rest = piece;
        loop {
            match peer.receive(&mut role, &mut kept, &mut rest) {
                Ok(ControlEvent::Partial) => break,
                Ok(event) => seen.extend([format!("{event:?}"), "\n".to_owned()]),
                Err(error) => return seen + &format!("{error:?}"),
            }
            assert!(kept.len() <= 40_000);
        }
    }
    seen
}
