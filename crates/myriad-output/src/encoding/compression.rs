//! Compression of a response for a single client: bodies that are not stored, or are still being received.

use myriad_http::lines::line_named;
use std::rc::Rc;

use bytes::Bytes;
use myriad_encode::{Coding, CompressionLevel, StreamEncoder, compress, gzip_small};
use myriad_http::body::BodyError;
use myriad_net::ResponseBody;

use super::choice::{encodings, is_compressed};
use super::gzip_proxied::proxied_facts;
use crate::transform::{Transform, transformed};
use myriad_exchange::exchange::{ContentResponse, EncodingSizes, Request, pull_body};

/// Compresses the body of a response if the location offers a coding that the client accepts, if the response is
/// `compressible`, and if `gzip_proxied` and similar settings, status, media type and length of the response and its
/// `Cache-Control` (`no-transform`) permit it. Sets `varies_by_encoding` if the location offers a coding for the
/// response, even if this client gets the body uncompressed.
pub(crate) fn encode(request: &mut Request, answer: &mut ContentResponse) {
    let nothing_offered = request.place().offer.is_empty();
    if nothing_offered || !answer.compressible || !is_compressed(answer.status) {
        return;
    }
    let length = match &answer.body {
        ResponseBody::Stream(_, length) => *length,
        ResponseBody::File { length, .. } => Some(*length),
        ResponseBody::Full(bytes) if !bytes.is_empty() => Some(bytes.len() as u64),
        _ => return,
    };
    let facts = proxied_facts(request, answer);
    let length = length.filter(|_| !answer.unsized_by_origin);
    let encodings = encodings(request, answer.bare_media_type(), length, facts, false);
    answer.varies_by_encoding |= encodings.varies;
    let no_transform = line_named(&answer.lines, b"cache-control")
        .is_some_and(|value| value.to_ascii_lowercase().windows(12).any(|part| part == b"no-transform"));
    let coding = encodings.wanted();
    if coding == Coding::Identity || no_transform {
        return;
    }
    let offer = &request.place().offer;
    let rules = match coding {
        Coding::Gzip => &offer.gzip,
        Coding::Brotli => &offer.brotli,
        Coding::Zstd | Coding::Identity => &offer.zstd,
    };
    let level = CompressionLevel::Number(rules.as_ref().map_or(1, |rules| rules.level));
    let bodiless = request.received.head.method() == myriad_http::Method::Head;
    let encoded = match std::mem::replace(&mut answer.body, ResponseBody::None) {
        // The head is the same as for GET: without the length before compression.
        ResponseBody::Stream(body, _) if bodiless => Ok(ResponseBody::Stream(body, None)),
        body @ (ResponseBody::Stream(..) | ResponseBody::File { .. }) => {
            let tally = request.outcome.head.encoding_sizes.insert(Rc::default());
            compress_streamed(body, coding, level, tally)
        }
        ResponseBody::Full(bytes) => {
            answer.uncompressed = bytes.len() as u64;
            compress_whole(bytes, coding, level)
        }
        body => Err(body),
    };
    match encoded {
        Ok(body) => {
            answer.body = body;
            answer.coding = coding;
            answer.length = None;
            answer.ranges = false;
            answer.detach(request.place().files.etag);
            answer.weaken_tag();
            answer.without(&[b"accept-ranges"]);
        }
        Err(body) => answer.body = body,
    }
}

/// Wraps a body in a streaming encoder. Returns the body as an error if the encoder cannot be created.
fn compress_streamed(
    body: ResponseBody,
    coding: Coding,
    level: CompressionLevel,
    tally: &Rc<EncodingSizes>,
) -> Result<ResponseBody, ResponseBody> {
    match StreamEncoder::new(coding, level) {
        Ok(encoder) => {
            let encoder = CountingEncoder { inner: Some(encoder), tally: Rc::clone(tally) };
            Ok(ResponseBody::Stream(transformed(pull_body(body), encoder), None))
        }
        Err(_) => Err(body),
    }
}

/// Maximum length, in bytes, of a complete body that is compressed with gzip level 1, whatever the configured level, or
/// with fixed Huffman codes if [`gzip_small`] supports its length and shortens it. A higher level takes 1.5 to 1.9
/// times as long and saves at most 4 % of the bytes, which is less than a TCP packet.
const SMALL_BODY: usize = 4 << 10;

/// Compresses a complete body, which is cheaper than streaming. Returns the body as an error if that fails.
fn compress_whole(
    bytes: Bytes,
    coding: Coding,
    mut level: CompressionLevel,
) -> Result<ResponseBody, ResponseBody> {
    if coding == Coding::Gzip && bytes.len() <= SMALL_BODY {
        // Fixed Huffman codes suit text of few different letters; other text is compressed by the library.
        if let Some(encoded) = gzip_small(&bytes).filter(|encoded| encoded.len() < bytes.len()) {
            return Ok(ResponseBody::Full(encoded.into()));
        }
        level = CompressionLevel::Number(1);
    }
    match compress(coding, level, &bytes) {
        Ok(encoded) => Ok(ResponseBody::Full(encoded.into())),
        Err(_) => Err(ResponseBody::Full(bytes)),
    }
}

/// Streaming encoder that counts its input and output, and flushes when the source pauses.
struct CountingEncoder {
    inner: Option<StreamEncoder>,
    tally: Rc<EncodingSizes>,
}

impl CountingEncoder {
    fn count(&self, taken: usize, given: usize) {
        self.tally.taken.set(self.tally.taken.get() + taken as u64);
        self.tally.given.set(self.tally.given.get() + given as u64);
    }
}

fn failed(_: myriad_encode::EncodeError) -> BodyError {
    BodyError::Aborted
}

impl Transform for CountingEncoder {
    fn push(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<bool, BodyError> {
        let (bytes, before) = (std::mem::take(input), out.len());
        self.inner.as_mut().map_or(Ok(()), |encoder| encoder.push(bytes, out)).map_err(failed)?;
        self.count(bytes.len(), out.len() - before);
        Ok(true)
    }

    fn pause(&mut self, out: &mut Vec<u8>) -> Result<(), BodyError> {
        let before = out.len();
        self.inner.as_mut().map_or(Ok(()), |encoder| encoder.flush(out)).map_err(failed)?;
        self.count(0, out.len() - before);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), BodyError> {
        let before = out.len();
        self.inner.take().map_or(Ok(()), |encoder| encoder.finish(out)).map_err(failed)?;
        self.count(0, out.len() - before);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use myriad_encode::SMALL_MAX;

    use super::*;

    #[test]
    fn body_that_fits_in_a_packet_is_packed_by_fixed_codes() {
        let line = "a line that is said again and again\n".repeat(100);
        for (length, is_small) in [(SMALL_MAX, true), (SMALL_MAX + 1, false)] {
            let bytes = Bytes::copy_from_slice(&line.as_bytes()[..length]);
            let Ok(ResponseBody::Full(packed)) =
                compress_whole(bytes.clone(), Coding::Gzip, CompressionLevel::Number(9))
            else {
                panic!("packed")
            };
            assert_eq!(gzip_small(&bytes).is_some_and(|small| small == packed), is_small, "{length} bytes");
        }
        // A text of non-ASCII bytes without repetitions: fixed codes would make it longer.
        let token =
            Bytes::from((0..900_u32).map(|at| 0xc0 + (at * at * 7 / 3 % 32) as u8).collect::<Vec<u8>>());
        let Ok(ResponseBody::Full(packed)) =
            compress_whole(token.clone(), Coding::Gzip, CompressionLevel::Number(9))
        else {
            panic!("packed")
        };
        assert!(packed.len() < token.len(), "{} bytes", packed.len());
    }

    #[test]
    fn small_bodies_use_fast_level_and_large_ones_configured_level() {
        let line = |number: usize| {
            format!("line {number} of a text in which little is said twice, {}\n", number * 7919)
        };
        let text = (0..400).map(line).collect::<Vec<_>>().concat();
        for (length, level) in [(SMALL_BODY, 1), (SMALL_BODY + 1, 9)] {
            let bytes = Bytes::copy_from_slice(&text.as_bytes()[..length]);
            let expected = compress(Coding::Gzip, CompressionLevel::Number(level), &bytes).expect("gzip");
            let other = compress(Coding::Gzip, CompressionLevel::Number(10 - level), &bytes).expect("gzip");
            let Ok(ResponseBody::Full(packed)) =
                compress_whole(bytes, Coding::Gzip, CompressionLevel::Number(9))
            else {
                panic!("packed")
            };
            assert!(packed == expected && packed != other, "{length} bytes");
        }
    }
}
