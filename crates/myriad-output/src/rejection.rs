//! Responses that conditions or ranges of the request reject (412, 416), for locations with `error_page`.

use myriad_http::ranges::RangeAction;
use myriad_http::{Known, Method};
use myriad_policy::{PreconditionOutcome, judge_conditions};

use super::ranges;
use myriad_exchange::exchange::ContentResponse;
use myriad_exchange::exchange::Request;

/// Rejection by a condition (412) or a range (416).
pub struct ConditionalRejection {
    /// Status of the rejection: 412 or 416.
    pub status: u16,
    /// Additional header lines of the rejection, such as `Content-Range`.
    pub lines: Vec<u8>,
}

/// Returns the rejection of a response (200 to GET or HEAD) that is about to be sent; `None` if it is not rejected, and
/// for subrequests. Also `None` if the location has no `error_page`, and instead of a 416 if filters change the body:
/// sending then evaluates the conditions and ranges.
pub fn conditional_rejection(request: &Request, answer: &ContentResponse) -> Option<ConditionalRejection> {
    let place = request.place();
    let fields = request.received.head.fields();
    let has_condition =
        || [Known::IfMatch, Known::IfUnmodifiedSince, Known::Range].into_iter().any(|name| fields.has(name));
    if place.errors.pages.is_empty() || !has_condition() {
        return None;
    }
    let reads = matches!(request.received.head.method(), Method::Get | Method::Head);
    if !reads
        || request.received.lineage.is_some()
        || request.errors.forced_status.unwrap_or(answer.status) != 200
    {
        return None;
    }
    let now_s = request.received.at_ms / 1000;
    let own = answer.own_tag();
    let tag = own.as_ref().or_else(|| answer.tag(place.files.etag));
    let validators = ranges::validators(answer, tag, now_s);
    if !answer.conditions_evaluated {
        match judge_conditions(fields, &validators, place.files.if_modified_since, now_s) {
            PreconditionOutcome::Failed => {
                return Some(ConditionalRejection { status: 412, lines: Vec::new() });
            }
            PreconditionOutcome::NotModified => return None,
            PreconditionOutcome::Pass => {}
        }
    }
    if place.filters.change(answer.bare_media_type()) {
        return None;
    }
    match ranges::plan(request, answer, &validators) {
        RangeAction::Unsatisfiable => {
            let length = answer.body.length().unwrap_or(0);
            Some(ConditionalRejection {
                status: 416,
                lines: format!("Content-Range: bytes */{length}\r\n").into_bytes(),
            })
        }
        _ => None,
    }
}
