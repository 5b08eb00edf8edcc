//! `slice`: a long answer asked for, and cached, in pieces of one size.
//!
//! ```text
//! client: Range: bytes=3-9 --> slice 2 --> origin: bytes=2-3, 4-5, 6-7, 8-9, each by its own key ($slice_range)
//! ```
//!
//! A place slices where its key or its request reads `$slice_range`. The first piece says how long the whole is; what
//! the client asked for is then cut out of the whole, and the other pieces are asked for as it takes them. Each must be
//! of the same whole, by tag and length, else the answer breaks off.

mod body;

use bytes::Bytes;
use myriad_encode::Coding;
use myriad_http::content_range::ContentRange;
use myriad_http::date::parse_http_date;
use myriad_http::ranges::{Ranges, parse_ranges};
use myriad_http::{Known, Method};
use myriad_log::Level;
use myriad_net::ResponseBody;
use myriad_policy::{Condition, Encoding, EntityTag, StoredValidators, if_range_holds, judge_conditions};

use self::body::{Piece, SliceBody};
use super::filters::pulled;
use super::{Answer, Source, error_body, line_named};
use crate::exchange::{Exchange, Request, Slice};

/// The piece that an answer holds, and the whole that it is of.
struct Part {
    range: ContentRange,
    complete: u64,
    tag: Option<Vec<u8>>,
}

/// Checks that an answer is the piece that was asked for; the error is for the error log.
fn part(answer: &Answer, slice: Slice, etags: bool) -> Result<Part, String> {
    let lines = match &answer.source {
        Source::Page(page) => page.meta().lines(),
        _ => b"",
    };
    let named = |name: &[u8]| line_named(&answer.lines, name).or_else(|| line_named(lines, name));
    let range = named(b"content-range").and_then(ContentRange::parse);
    let range = range.ok_or("invalid range in slice response")?;
    let complete = range.complete.ok_or("no complete length in slice response")?;
    let expected = slice.start..slice.start.saturating_add(slice.size).min(complete);
    if range.range != expected {
        let (got, wanted) = (&range.range, &expected);
        return Err(format!(
            "unexpected range in slice response: {}-{}, expected: {}-{}",
            got.start, got.end, wanted.start, wanted.end
        ));
    }
    let tag = match answer.tag(etags) {
        Some(tag) => {
            let mut text = Vec::new();
            tag.write(Encoding::IDENTITY, &mut text);
            Some(text)
        }
        None => named(b"etag").map(<[u8]>::to_vec),
    };
    Ok(Part { range, complete, tag })
}

/// Makes the answer that the client gets of the first piece. What is no piece stays as it is.
pub(crate) fn apply(exchange: &mut Exchange, answer: &mut Answer) {
    let Some(slice) = exchange.request.slice.get() else { return };
    if answer.status != 206 || exchange.request.is_subrequest() {
        return;
    }
    let part = match part(answer, slice, true) {
        Ok(part) => part,
        Err(reason) => {
            exchange.request.log(Level::Error, format_args!("{reason}"));
            answer.dropped = true;
            return;
        }
    };
    answer.detach(exchange.request.place().files.etag);
    answer.without(&[b"content-range", b"accept-ranges"]);
    answer.status = 200;
    answer.reason = None;
    answer.length = None;
    answer.ranges = false;
    answer.judged = true;
    answer.compressible = false;
    let first = std::mem::replace(&mut answer.body, ResponseBody::None);
    let wanted = match judge(&exchange.request, answer, part.complete) {
        Wanted::Bytes(range) => range,
        Wanted::Nothing(status) => return refuse(exchange, answer, status, part.complete),
    };
    if wanted == (0..part.complete) && answer.status == 200 {
        answer.field(b"Accept-Ranges", b"bytes");
    }
    let length = wanted.end - wanted.start;
    if exchange.request.head.method() == Method::Head {
        answer.length = Some(length);
        return;
    }
    let whole = body::Whole { size: slice.size, complete: part.complete, tag: part.tag };
    let first = Piece::new(pulled(first), part.range.range);
    let body = SliceBody::new(exchange.companion(), whole, wanted, first);
    answer.body = ResponseBody::Stream(Box::pin(body), Some(length));
    answer.postponed = true;
}

/// What of the whole is sent.
enum Wanted {
    Bytes(std::ops::Range<u64>),
    /// None of it: 304, 412 or 416.
    Nothing(u16),
}

/// Judges conditions and range of the client against the whole; several ranges are answered by all of it, as in nginx.
fn judge(request: &Request, answer: &mut Answer, complete: u64) -> Wanted {
    let place = request.place();
    let now_s = request.received_ms / 1000;
    let named = |name: &[u8]| line_named(&answer.lines, name);
    let tag = named(b"etag").and_then(|value| EntityTag::from_origin(value, Coding::Identity));
    let validators = StoredValidators {
        tag: tag.as_ref(),
        encoding: Encoding::IDENTITY,
        last_modified_s: named(b"last-modified").and_then(|text| parse_http_date(text, now_s)),
    };
    let fields = request.head.fields();
    match judge_conditions(fields, &validators, place.files.if_modified_since, now_s) {
        Condition::Pass => {}
        Condition::NotModified => return Wanted::Nothing(304),
        Condition::Failed => return Wanted::Nothing(412),
    }
    let whole = Wanted::Bytes(0..complete);
    // A filter makes other bytes of it, which nobody has asked for a range of.
    let filters = place.filters.as_ref();
    if filters.is_some_and(|filters| filters.change(answer.bare_media_type())) {
        return whole;
    }
    let Some(value) = fields.known(Known::Range) else { return whole };
    if fields.known(Known::IfRange).is_some_and(|condition| !if_range_holds(condition, &validators, now_s)) {
        return whole;
    }
    match parse_ranges(value, complete, place.files.max_ranges) {
        Ranges::Satisfiable(ranges) if ranges.len() == 1 => {
            let range = ranges[0].clone();
            let value = format!("bytes {}-{}/{complete}", range.start, range.end - 1);
            answer.status = 206;
            answer.field(b"Content-Range", value.as_bytes());
            Wanted::Bytes(range)
        }
        Ranges::Unsatisfiable => Wanted::Nothing(416),
        Ranges::Satisfiable(_) | Ranges::Ignore => whole,
    }
}

fn refuse(exchange: &Exchange, answer: &mut Answer, status: u16, complete: u64) {
    if status == 304 {
        answer.status = 304;
        return;
    }
    let place = exchange.request.place();
    let body = Bytes::from(error_body(status, &place.headers.server_name));
    *answer = Answer::new(status, ResponseBody::Full(body));
    answer.media_type = Some(b"text/html"[..].into());
    if status == 416 {
        answer.field(b"Content-Range", format!("bytes */{complete}").as_bytes());
    }
}

/// Asks for another piece of a whole that was sliced.
fn ask(exchange: &mut Exchange, slice: Slice) -> Option<crate::subrequest::Asked> {
    let piece = exchange.piece(slice).ok()?;
    Some(crate::subrequest::ask_in_place(piece))
}
