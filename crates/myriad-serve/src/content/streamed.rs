//! Bodies that are compressed for one visitor: what is not stored, and what is still arriving.

use std::rc::Rc;

use bytes::Bytes;
use myriad_encode::{Coding, Level, StreamEncoder, compress};
use myriad_http::Known;
use myriad_http::body::BodyError;
use myriad_http::cache_control::CacheControl;
use myriad_http::date::parse_http_date;
use myriad_net::ResponseBody;

use crate::exchange::{Request, Tally};
use crate::output::{Answer, Source, Transform, encodings, line_named, pulled, transformed};
use crate::runtime::ProxiedFacts;

/// Wraps a streamed body in an encoder, where the place offers it and the client takes it.
pub(crate) fn encode(request: &mut Request, answer: &mut Answer) {
    if !answer.compressible || !matches!(answer.status, 200 | 403 | 404) {
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
    let level = Level::Number(rules.as_ref().map_or(1, |rules| rules.level));
    let bodiless = request.head.method() == myriad_http::Method::Head;
    let encoded = match std::mem::replace(&mut answer.body, ResponseBody::None) {
        // What a GET would be told of: not the length of the bytes before they are encoded.
        ResponseBody::Stream(body, _) if bodiless => Ok(ResponseBody::Stream(body, None)),
        body @ (ResponseBody::Stream(..) | ResponseBody::File { .. }) => {
            let tally = request.answered.tally.insert(Rc::default());
            in_passing(body, coding, level, tally)
        }
        ResponseBody::Full(bytes) => {
            answer.uncompressed = bytes.len() as u64;
            whole(bytes, coding, level)
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

/// Wraps a body in an encoder; gives it back where there is none to be had.
fn in_passing(
    body: ResponseBody,
    coding: Coding,
    level: Level,
    tally: &Rc<Tally>,
) -> Result<ResponseBody, ResponseBody> {
    match StreamEncoder::new(coding, level) {
        Ok(encoder) => {
            let encoder = Encoder { inner: Some(encoder), tally: Rc::clone(tally) };
            Ok(ResponseBody::Stream(transformed(pulled(body), encoder), None))
        }
        Err(_) => Err(body),
    }
}

/// Encodes a body that is all there, which is cheaper than in passing; gives it back where that fails.
fn whole(bytes: Bytes, coding: Coding, level: Level) -> Result<ResponseBody, ResponseBody> {
    match compress(coding, level, &bytes) {
        Ok(encoded) => Ok(ResponseBody::Full(encoded.into())),
        Err(_) => Err(ResponseBody::Full(bytes)),
    }
}

/// What `gzip_proxied` asks; nothing where the request came through no proxy.
pub(crate) fn proxied_facts(request: &Request, answer: &Answer) -> ProxiedFacts {
    if !request.head.fields().has(Known::Via) {
        return ProxiedFacts::default();
    }
    let named = |name: &[u8]| line_named(&answer.lines, name);
    let control = CacheControl::parse(named(b"cache-control"));
    let is_file = matches!(answer.source, Source::File(_));
    let now_s = request.received_ms / 1000;
    ProxiedFacts {
        expired: named(b"expires").map(|text| is_expired(text, now_s)),
        has_cache_control: named(b"cache-control").is_some(),
        no_cache: control.no_cache,
        no_store: control.no_store,
        private: control.private,
        has_last_modified: is_file || named(b"last-modified").is_some(),
        has_etag: is_file || named(b"etag").is_some(),
    }
}

/// Whether an `Expires` is over, as nginx judges it for `gzip_proxied`: what is no date is not.
pub(crate) fn is_expired(text: &[u8], now_s: u64) -> bool {
    parse_http_date(text, now_s).is_some_and(|expires| expires < now_s)
}

/// Compresses what passes; gives out what it holds when the origin pauses.
struct Encoder {
    inner: Option<StreamEncoder>,
    tally: Rc<Tally>,
}

impl Encoder {
    fn count(&self, taken: usize, given: usize) {
        self.tally.taken.set(self.tally.taken.get() + taken as u64);
        self.tally.given.set(self.tally.given.get() + given as u64);
    }
}

fn failed(_: myriad_encode::EncodeError) -> BodyError {
    BodyError::Aborted
}

impl Transform for Encoder {
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
