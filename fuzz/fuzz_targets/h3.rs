//! HTTP/3 streams: the result does not depend on the pieces, a parsed request is within its limits, and written
//! responses parse again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_http::RequestHead;
use myriad_http::h1::HeadLimits;
use myriad_http::h3::{
    ClientUniStreams, ControlEvent, QpackDecoder, QpackEncoder, RequestEvent, RequestReader, UniStreamRole,
};

/// Returns the result of a request stream as text.
fn request(input: &[u8], step: usize) -> String {
    let (mut reader, mut head, mut seen) = (RequestReader::new(0), RequestHead::new(), String::new());
    let mut fields = QpackDecoder::default();
    let limits = HeadLimits::default();
    for piece in input.chunks(step) {
        let mut rest = piece;
        loop {
            match reader.receive(&mut rest, &limits, &mut head, &mut fields) {
                Ok(RequestEvent::Partial) => break,
                Ok(RequestEvent::Data(data)) => seen.extend(data.iter().map(|byte| char::from(*byte))),
                Ok(RequestEvent::Blocked) => return seen + "blocked",
                Ok(RequestEvent::Trailers) => seen.push_str("\ntrailers\n"),
                Ok(RequestEvent::Request { malformed, .. }) => {
                    let size: usize =
                        head.fields().iter().map(|(name, value)| name.len() + value.len()).sum();
                    assert!(size <= limits.total + 1024);
                    seen.push_str(&format!("\n{malformed:?} {head:?}\n"));
                    if malformed.is_none() {
                        read_back(&head);
                    }
                }
                Err(error) => return seen + &format!("{error:?}"),
            }
        }
        assert!(rest.is_empty());
    }
    seen + &format!("{:?}", reader.finish())
}

/// Checks that a request survives a round trip.
fn read_back(head: &RequestHead) {
    let (mut encoder, mut section) = (QpackEncoder::default(), Vec::new());
    QpackEncoder::begin(&mut section);
    for (name, value) in [(&b":method"[..], &b"GET"[..]), (b":scheme", b"https"), (b":path", b"/")] {
        encoder.field(name, value, &mut section);
    }
    for (name, value) in head.fields().iter() {
        let name = if name == b"host" { b":authority" } else { name };
        encoder.field(name, value, &mut section);
    }
    let length = (section.len() as u32 | 0x8000_0000).to_be_bytes();
    let (mut again, mut reader) = (RequestHead::new(), RequestReader::new(0));
    let limits = HeadLimits { line: 1 << 20, total: 1 << 20, ..HeadLimits::default() };
    let mut rest = &[&[1], &length[..], &section].concat()[..];
    let event = reader.receive(&mut rest, &limits, &mut again, &mut QpackDecoder::default());
    assert!(matches!(event, Ok(RequestEvent::Request { malformed: None, .. })), "{event:?}");
    assert!(
        head.fields().iter().all(|(name, value)| again.fields().get_all(name).any(|other| other == value))
    );
}

/// Returns the result of a unidirectional stream as text.
fn one_way(input: &[u8], step: usize) -> String {
    let (mut peer, mut role, mut kept, mut seen) =
        (ClientUniStreams::default(), UniStreamRole::default(), Vec::new(), String::new());
    for piece in input.chunks(step) {
        let mut rest = piece;
        loop {
            match peer.receive(&mut role, &mut kept, &mut rest) {
                Ok(ControlEvent::Partial) => break,
                Ok(told) => seen.push_str(&format!("{told:?}")),
                Err(error) => return seen + &format!("{error:?}"),
            }
            assert!(kept.len() <= 40_000);
        }
    }
    seen
}

fuzz_target!(|data: &[u8]| {
    let Some((step, input)) = data.split_first() else { return };
    let step = usize::from(*step).max(1);
    assert_eq!(request(input, step), request(input, usize::MAX));
    assert_eq!(one_way(input, step), one_way(input, usize::MAX));
});
