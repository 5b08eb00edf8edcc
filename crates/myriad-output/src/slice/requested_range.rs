//! Evaluation of conditions and range of a client's request against a sliced representation.

use myriad_base::calendar::parse_http_date;
use myriad_encode::Coding;
use myriad_http::Known;
use myriad_http::lines::line_named;
use myriad_http::ranges::{RangeAction, parse_ranges};
use myriad_policy::{
    EntityTag, PageEncoding, PreconditionOutcome, StoredValidators, if_range_holds, judge_conditions,
};

use myriad_exchange::exchange::{ContentResponse, Request};

/// Part of the representation that the client receives.
pub(super) enum RequestedRange {
    /// These bytes of the representation, which may be all.
    Bytes(std::ops::Range<u64>),
    /// No part, but a response with this status: 304, 412 or 416.
    Nothing(u16),
}

/// Evaluates conditions and range of the request against the representation of `complete` bytes. A single satisfiable
/// range sets the status of `answer` to 206 and adds `Content-Range`. The client receives the complete representation
/// for several ranges, as in nginx, if `Range` is missing or ignored ([`parse_ranges`]), if `If-Range` does not hold,
/// and if filters change the body.
pub(super) fn requested_range(
    request: &Request,
    answer: &mut ContentResponse,
    complete: u64,
) -> RequestedRange {
    let place = request.place();
    let now_s = request.received.at_ms / 1000;
    let named = |name: &[u8]| line_named(&answer.lines, name);
    let tag = named(b"etag").and_then(|value| EntityTag::from_origin(value, Coding::Identity));
    let validators = StoredValidators {
        tag: tag.as_ref(),
        encoding: PageEncoding::IDENTITY,
        last_modified_s: named(b"last-modified").and_then(|text| parse_http_date(text, now_s)),
    };
    let fields = request.received.head.fields();
    match judge_conditions(fields, &validators, place.files.if_modified_since, now_s) {
        PreconditionOutcome::Pass => {}
        PreconditionOutcome::NotModified => return RequestedRange::Nothing(304),
        PreconditionOutcome::Failed => return RequestedRange::Nothing(412),
    }
    let whole = RequestedRange::Bytes(0..complete);
    // A filter changes the bytes, so the requested range does not apply to them.
    if place.filters.change(answer.bare_media_type()) {
        return whole;
    }
    let Some(value) = fields.known(Known::Range) else { return whole };
    if fields.known(Known::IfRange).is_some_and(|condition| !if_range_holds(condition, &validators, now_s)) {
        return whole;
    }
    match parse_ranges(value, complete, place.files.max_ranges) {
        RangeAction::Satisfiable(ranges) if ranges.len() == 1 => {
            let range = ranges[0].clone();
            let value = format!("bytes {}-{}/{complete}", range.start, range.end - 1);
            answer.status = 206;
            answer.field(b"Content-Range", value.as_bytes());
            RequestedRange::Bytes(range)
        }
        RangeAction::Unsatisfiable => RequestedRange::Nothing(416),
        RangeAction::Satisfiable(_) | RangeAction::Ignore => whole,
    }
}
