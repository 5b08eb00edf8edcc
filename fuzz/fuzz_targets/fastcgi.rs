//! FastCGI records and the head of a CGI response: the streams do not depend on the pieces.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use myriad_upstream::fastcgi_protocol::{Event, ResponderDecoder, cgi};

/// Returns output, error text and final status of a request; `None` if the stream is malformed.
fn decode(input: &[u8], step: usize) -> Option<(Vec<u8>, Vec<u8>, Option<String>)> {
    let mut decoder = ResponderDecoder::new();
    let mut buffer = BytesMut::new();
    let (mut stdout, mut stderr, mut end) = (Vec::new(), Vec::new(), None);
    for piece in input.chunks(step) {
        buffer.extend_from_slice(piece);
        while end.is_none()
            && let Some(event) = decoder.decode(&mut buffer).ok()?
        {
            match event {
                Event::Stdout(bytes) => stdout.extend_from_slice(&bytes),
                Event::Stderr(bytes) => stderr.extend_from_slice(&bytes),
                Event::StdoutEnd => {}
                Event::End(how) => end = Some(format!("{how:?}")),
            }
        }
    }
    Some((stdout, stderr, end))
}

fuzz_target!(|input: (u8, &[u8])| {
    let (step, text) = input;
    let whole = decode(text, usize::MAX);
    assert_eq!(decode(text, usize::from(step).max(1)), whole);
    let _ = cgi::parse_head(text, 4096);
});
