//! Chunked coding: the result does not depend on the pieces, and encoded data decodes again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_http::h1::{ChunkedDecoder, LAST_CHUNK, encode_chunk_head};

/// Returns the data, the number of consumed bytes, and whether the body is complete; `None` if it is malformed.
fn decode(input: &[u8], step: usize) -> Option<(Vec<u8>, usize, bool)> {
    let mut decoder = ChunkedDecoder::new();
    let mut data = Vec::new();
    let mut at = 0;
    while at < input.len() && !decoder.is_done() {
        let piece = &input[at..input.len().min(at + step)];
        let chunk = decoder.decode(piece).ok()?;
        assert!(chunk.consumed > 0 && chunk.data.end <= chunk.consumed && chunk.consumed <= piece.len());
        data.extend_from_slice(&piece[chunk.data]);
        at += chunk.consumed;
    }
    Some((data, at, decoder.is_done()))
}

fuzz_target!(|input: (u8, &[u8])| {
    let (step, body) = input;
    let step = usize::from(step).max(1);
    let whole = decode(body, usize::MAX / 2);
    assert_eq!(decode(body, 1), whole);
    assert_eq!(decode(body, step), whole);

    let mut encoded = Vec::new();
    for piece in body.chunks(step) {
        encode_chunk_head(piece.len(), &mut encoded);
        encoded.extend_from_slice(piece);
        encoded.extend_from_slice(b"\r\n");
    }
    encoded.extend_from_slice(LAST_CHUNK);
    assert_eq!(decode(&encoded, step), Some((body.to_vec(), encoded.len(), true)));
});
