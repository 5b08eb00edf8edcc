//! Streams of HTTP/3: any pieces mean the same, what was read is a request within its bounds, and what is answered reads back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_http::RequestHead;
use myriad_http::h1::HeadLimits;
use myriad_http::h3::{self, Control, Encoder, Event, Peer, RequestReader, Role};

/// What a request stream came to, as text.
fn request(input: &[u8], step: usize) -> String {
    let (mut reader, mut head, mut seen) = (RequestReader::default(), RequestHead::new(), String::new());
    let limits = HeadLimits::default();
    for piece in input.chunks(step) {
        let mut rest = piece;
        loop {
            match reader.receive(&mut rest, &limits, &mut head) {
                Ok(Event::Partial) => break,
                Ok(Event::Data(data)) => seen.extend(data.iter().map(|byte| char::from(*byte))),
                Ok(Event::Trailers) => seen.push_str("\ntrailers\n"),
                Ok(Event::Request { malformed, .. }) => {
                    assert!(head.size() <= limits.total + 1024);
                    seen.push_str(&format!("\n{malformed:?} {head:?}\n"));
                    read_back(&head);
                }
                Err(error) => return seen + &format!("{error:?}"),
            }
        }
        assert!(rest.is_empty());
    }
    seen + &format!("{:?}", reader.finish())
}

/// The fields of a request, sent as an answer, are the same fields.
fn read_back(head: &RequestHead) {
    let (mut out, mut section) = (Vec::new(), Vec::new());
    h3::response_head(200, head.fields().iter(), &mut Encoder::default(), &mut section, &mut out);
    let mut fields = 0;
    h3::decode(&section, 1 << 20, 1 << 20, |_, _| fields += 1).expect("what was written is read");
    assert!(fields <= head.fields().len() + 1);
}

/// What a one-way stream came to, as text.
fn one_way(input: &[u8], step: usize) -> String {
    let (mut peer, mut role, mut kept, mut seen) = (Peer::default(), Role::default(), Vec::new(), String::new());
    for piece in input.chunks(step) {
        let mut rest = piece;
        loop {
            match peer.receive(&mut role, &mut kept, &mut rest) {
                Ok(Control::Partial) => break,
                Ok(told) => seen.push_str(&format!("{told:?}")),
                Err(error) => return seen + &format!("{error:?}"),
            }
            assert!(kept.len() < 8);
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
