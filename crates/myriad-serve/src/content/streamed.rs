//! Bodies that are compressed on their way: what is not stored, and what is still arriving.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use myriad_encode::{Coding, Level, StreamEncoder};
use myriad_http::Known;
use myriad_http::body::{Body, BodyError, BoxBody};
use myriad_http::cache_control::CacheControl;
use myriad_http::date::parse_http_date;
use myriad_net::ResponseBody;

use crate::exchange::Request;
use crate::output::{Answer, encodings, line_named};
use crate::runtime::ProxiedFacts;

/// Wraps a streamed body in an encoder, where the place offers it and the client takes it.
pub(crate) fn encode(request: &mut Request, answer: &mut Answer) {
    if !answer.compressible || !matches!(answer.status, 200 | 403 | 404) {
        return;
    }
    let ResponseBody::Stream(_, length) = &answer.body else { return };
    let facts = proxied_facts(request, answer);
    let media_type = answer.media_type.as_deref().unwrap_or_default();
    let media_type = media_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let encodings = encodings(request, media_type, *length, facts, false);
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
    let level = rules.as_ref().map_or(1, |rules| rules.level);
    let Ok(encoder) = StreamEncoder::new(coding, Level::Number(level)) else { return };
    answer.coding = coding;
    answer.length = None;
    answer.ranges = false;
    if request.head.method() == myriad_http::Method::Head {
        answer.body = ResponseBody::None;
        return;
    }
    weaken_tag(answer);
    let body = std::mem::replace(&mut answer.body, ResponseBody::None);
    if let ResponseBody::Stream(body, _) = body {
        let encoded = Encoded { body, encoder: Some(encoder), silent: 0 };
        answer.body = ResponseBody::Stream(Box::pin(encoded), None);
    }
}

/// What `gzip_proxied` asks; nothing where the request came through no proxy.
fn proxied_facts(request: &Request, answer: &Answer) -> ProxiedFacts {
    if !request.head.fields().has(Known::Via) {
        return ProxiedFacts::default();
    }
    let named = |name: &[u8]| line_named(&answer.lines, name);
    let control = CacheControl::parse(named(b"cache-control"));
    let now_s = request.received_ms / 1000;
    ProxiedFacts {
        expired: named(b"expires").is_some_and(|text| is_expired(text, now_s)),
        no_cache: control.no_cache,
        no_store: control.no_store,
        private: control.private,
        has_last_modified: named(b"last-modified").is_some(),
        has_etag: named(b"etag").is_some(),
    }
}

/// Whether an `Expires` is over; one that is no date is (RFC 9111 section 5.3).
pub(crate) fn is_expired(text: &[u8], now_s: u64) -> bool {
    parse_http_date(text, now_s).is_none_or(|expires| expires <= now_s)
}

/// Other bytes than the origin's: its strong tag no longer holds (RFC 9110 section 8.8.1).
fn weaken_tag(answer: &mut Answer) {
    let Some(tag) = line_named(&answer.lines, b"etag").map(<[u8]>::to_vec) else { return };
    answer.without(&[b"etag", b"accept-ranges"]);
    if tag.starts_with(b"W/") {
        answer.field(b"ETag", &tag);
    } else {
        answer.field(b"ETag", &[b"W/", &tag[..]].concat());
    }
}

struct Encoded {
    body: BoxBody,
    encoder: Option<StreamEncoder>,
    /// Bytes taken in since something came out.
    silent: usize,
}

impl Body for Encoded {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let this = &mut *self;
        loop {
            let Some(encoder) = this.encoder.as_mut() else { return Poll::Ready(None) };
            let mut out = Vec::new();
            let failed = |_| Poll::Ready(Some(Err(BodyError::Aborted)));
            match this.body.as_mut().poll_data(cx) {
                Poll::Pending if this.silent > 0 => {
                    // The origin pauses: what came so far must not wait in the encoder for the rest.
                    this.silent = 0;
                    if let Err(error) = encoder.flush(&mut out) {
                        return failed(error);
                    }
                }
                pending @ Poll::Pending => {
                    ready!(pending.map(|_| ()));
                }
                Poll::Ready(Some(Ok(piece))) => {
                    this.silent += piece.len();
                    if let Err(error) = encoder.push(&piece, &mut out) {
                        return failed(error);
                    }
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => {
                    let Some(encoder) = this.encoder.take() else { return Poll::Ready(None) };
                    if let Err(error) = encoder.finish(&mut out) {
                        return failed(error);
                    }
                }
            }
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(Bytes::from(out))));
            }
        }
    }

    fn size_hint(&self) -> Option<u64> {
        None
    }
}
