//! Ranges of a response (RFC 9110 section 14): one as 206, several as `multipart/byteranges`.

use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use myriad_http::Known;
use myriad_http::body::{Body, BodyError, BoxBody};
use myriad_http::ranges::{RangeAction, parse_ranges};
use myriad_net::ResponseBody;
use myriad_policy::{EntityTag, StoredValidators, if_range_holds};

use myriad_exchange::exchange::ContentResponse;
use myriad_exchange::exchange::Request;

/// Returns the ranges that the client receives. `Ignore` means the complete response: without a `Range` in bytes, if
/// its ranges are too many or longer in total than the response, if `max_ranges` is 0, if the response does not support
/// ranges or its length is unknown, if `If-Range` does not hold, or for several ranges of a stream. Must be called
/// before the response is changed.
pub(crate) fn plan(
    request: &Request,
    answer: &ContentResponse,
    validators: &StoredValidators<'_>,
) -> RangeAction {
    let max_ranges = request.place().files.max_ranges;
    let fields = request.received.head.fields();
    let (Some(value), Some(length)) = (fields.known(Known::Range), answer.body.length()) else {
        return RangeAction::Ignore;
    };
    if !answer.ranges || max_ranges == 0 {
        return RangeAction::Ignore;
    }
    if let Some(condition) = fields.known(Known::IfRange)
        && !if_range_holds(condition, validators, request.received.at_ms / 1000)
    {
        return RangeAction::Ignore;
    }
    match parse_ranges(value, length, max_ranges) {
        // Several ranges of a stream would have to be buffered, so it is sent completely.
        RangeAction::Satisfiable(ranges)
            if ranges.len() > 1 && matches!(answer.body, ResponseBody::Stream(..)) =>
        {
            RangeAction::Ignore
        }
        ranges => ranges,
    }
}

/// Reduces a complete response to the planned ranges. Leaves the response complete if several ranges of a file are
/// longer than [`SEVERAL_FROM_FILE`] or cannot be read, and for several ranges of a stream. If no range is satisfiable,
/// the error is the value of `Content-Range` for a 416.
pub(crate) fn apply(answer: &mut ContentResponse, plan: &RangeAction) -> Result<(), String> {
    let length = answer.body.length().unwrap_or(0);
    match plan {
        RangeAction::Ignore => {}
        RangeAction::Unsatisfiable => return Err(format!("bytes */{length}")),
        RangeAction::Satisfiable(ranges) => match &ranges[..] {
            [range] => {
                let body = std::mem::replace(&mut answer.body, ResponseBody::None);
                answer.body = match body {
                    ResponseBody::Stream(mut body, _) => {
                        let left = range.end - range.start;
                        let skip = range.start - body.as_mut().skip(range.start);
                        ResponseBody::Stream(Box::pin(BodyRange { body, skip, left }), Some(left))
                    }
                    body => part(&body, range),
                };
                answer.status = 206;
                let value = format!("bytes {}-{}/{length}", range.start, range.end - 1);
                answer.field(b"Content-Range", value.as_bytes());
            }
            ranges => multipart_ranges(answer, ranges, length),
        },
    }
    Ok(())
}

/// One range of a streamed body.
struct BodyRange {
    body: BoxBody,
    skip: u64,
    left: u64,
}

impl Body for BodyRange {
    fn poll_data(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let this = &mut *self;
        while this.left > 0 {
            let mut piece = match ready!(this.body.as_mut().poll_data(cx)) {
                Some(Ok(piece)) => piece,
                end => return Poll::Ready(end),
            };
            let skipped = this.skip.min(piece.len() as u64);
            this.skip -= skipped;
            piece.advance(skipped as usize);
            piece.truncate(usize::try_from(this.left).unwrap_or(usize::MAX));
            this.left -= piece.len() as u64;
            if !piece.is_empty() {
                return Poll::Ready(Some(Ok(piece)));
            }
        }
        Poll::Ready(None)
    }

    fn size_hint(&self) -> Option<u64> {
        Some(self.left)
    }
}

/// Returns a range of `body`; no body if `body` is a stream, a tunnel or none.
fn part(body: &ResponseBody, range: &Range<u64>) -> ResponseBody {
    match body {
        ResponseBody::Full(bytes) => {
            ResponseBody::Full(bytes.slice(range.start as usize..range.end as usize))
        }
        ResponseBody::Parts(parts) => ResponseBody::Parts(slice_parts(parts, range)),
        ResponseBody::File { file, offset, .. } => ResponseBody::File {
            file: Arc::clone(file),
            offset: offset + range.start,
            length: range.end - range.start,
        },
        ResponseBody::None | ResponseBody::Stream(..) | ResponseBody::Tunnel(_) => ResponseBody::None,
    }
}

fn slice_parts(parts: &[Bytes], range: &Range<u64>) -> Vec<Bytes> {
    let mut at = 0;
    let mut out = Vec::new();
    for bytes in parts {
        let end = at + bytes.len() as u64;
        let from = range.start.max(at);
        let to = range.end.min(end);
        if from < to {
            out.push(bytes.slice((from - at) as usize..(to - at) as usize));
        }
        at = end;
    }
    out
}

/// Maximum number of bytes of a file that several ranges may read into memory; beyond it, the complete response is
/// sent.
const SEVERAL_FROM_FILE: u64 = 8 << 20;

fn multipart_ranges(answer: &mut ContentResponse, ranges: &[Range<u64>], length: u64) {
    use std::fmt::Write;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    static SERIAL: AtomicU64 = AtomicU64::new(1);
    let total: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    match answer.body {
        ResponseBody::File { .. } if total > SEVERAL_FROM_FILE => return,
        // A stream can be read only once, and ranges may overlap. RFC 9110 section 14.2 permits the complete response.
        ResponseBody::Stream(..) => return,
        _ => {}
    }
    let boundary = format!("{:020}", SERIAL.fetch_add(1, Relaxed));
    let mut out = Vec::new();
    for range in ranges {
        let mut head = format!("\r\n--{boundary}\r\n");
        if let Some(media_type) = answer.media_type() {
            head.push_str("Content-Type: ");
            head.push_str(&String::from_utf8_lossy(media_type));
            head.push_str("\r\n");
        }
        let _ = write!(head, "Content-Range: bytes {}-{}/{length}\r\n\r\n", range.start, range.end - 1);
        out.push(Bytes::from(head));
        match part(&answer.body, range) {
            ResponseBody::Full(bytes) => out.push(bytes),
            ResponseBody::Parts(parts) => out.extend(parts),
            ResponseBody::File { file, offset, length } => match read_part(&file, offset, length) {
                Some(bytes) => out.push(bytes),
                None => return,
            },
            ResponseBody::None | ResponseBody::Stream(..) | ResponseBody::Tunnel(_) => {}
        }
    }
    out.push(Bytes::from(format!("\r\n--{boundary}--\r\n")));
    answer.body = ResponseBody::Parts(out);
    answer.status = 206;
    answer.media_type = Some(format!("multipart/byteranges; boundary={boundary}").into_bytes().into());
}

fn read_part(file: &std::os::fd::OwnedFd, offset: u64, length: u64) -> Option<Bytes> {
    let mut bytes = vec![0; length as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::io::pread(file, &mut bytes[filled..], offset + filled as u64) {
            Ok(0) | Err(_) => return None,
            Ok(count) => filled += count,
        }
    }
    Some(Bytes::from(bytes))
}

/// Returns the validators of a response, with the encoding in which it is sent.
pub(crate) fn validators<'a>(
    answer: &'a ContentResponse,
    tag: Option<&'a EntityTag>,
    now_s: u64,
) -> StoredValidators<'a> {
    StoredValidators { tag, encoding: answer.encoding(), last_modified_s: answer.modified_s(now_s) }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    struct StaticPieces(Vec<&'static [u8]>);

    impl Body for StaticPieces {
        fn poll_data(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Bytes, BodyError>>> {
            let next = if self.0.is_empty() { None } else { Some(Ok(Bytes::from_static(self.0.remove(0)))) };
            Poll::Ready(next)
        }

        fn size_hint(&self) -> Option<u64> {
            None
        }
    }

    #[test]
    fn stretch_is_cut_out_of_a_body_that_arrives_in_pieces() {
        let text = b"abcdefghij";
        for start in 0..10u64 {
            for end in start + 1..=10 {
                let body = Box::pin(StaticPieces(vec![&text[..3], &text[3..4], &text[4..]]));
                let mut cut = Box::pin(BodyRange { body, skip: start, left: end - start });
                let mut out = Vec::new();
                let mut cx = Context::from_waker(Waker::noop());
                while let Poll::Ready(Some(Ok(piece))) = cut.as_mut().poll_data(&mut cx) {
                    out.extend_from_slice(&piece);
                }
                assert_eq!(out, &text[start as usize..end as usize], "{start}-{end}");
            }
        }
    }

    #[test]
    fn stretch_of_parts_takes_no_more_of_each_than_it_covers() {
        let parts: Vec<Bytes> =
            [&b"abc"[..], b"", b"defg", b"h"].iter().map(|part| Bytes::copy_from_slice(part)).collect();
        for start in 0..8u64 {
            for end in start + 1..=8 {
                let cut = slice_parts(&parts, &(start..end));
                assert!(cut.iter().all(|part| !part.is_empty()), "{start}-{end}");
                assert_eq!(cut.concat(), &b"abcdefgh"[start as usize..end as usize], "{start}-{end}");
            }
        }
    }

    #[test]
    fn stretch_of_a_file_is_a_stretch_of_the_same_file() {
        let file = Arc::new(std::os::fd::OwnedFd::from(std::fs::File::open("/dev/null").unwrap()));
        let whole = ResponseBody::File { file, offset: 100, length: 50 };
        assert!(matches!(part(&whole, &(10..20)), ResponseBody::File { offset: 110, length: 10, .. }));
    }

    #[test]
    fn several_parts_of_what_still_arrives_or_is_too_long_are_the_whole() {
        let stream = ResponseBody::Stream(Box::pin(StaticPieces(vec![b"0123456789"])), Some(10));
        let file = Arc::new(std::os::fd::OwnedFd::from(std::fs::File::open("/dev/null").unwrap()));
        let long = ResponseBody::File { file, offset: 0, length: 2 * SEVERAL_FROM_FILE };
        for (body, ranges) in [(stream, vec![0..1, 3..4]), (long, vec![0..1, 1..SEVERAL_FROM_FILE + 1])] {
            let mut answer = ContentResponse::new(200, body);
            multipart_ranges(&mut answer, &ranges, 10);
            assert_eq!(answer.status, 200);
        }
    }
}
