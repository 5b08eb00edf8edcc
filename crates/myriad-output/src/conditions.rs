//! Evaluation of request conditions (RFC 9110 section 13), such as `If-None-Match`, against a response.

use myriad_http::Method;
use myriad_net::ResponseBody;
use myriad_policy::{PreconditionOutcome, judge_conditions};

use super::error_answer::error_answer;
use super::ranges;
use myriad_exchange::exchange::{ContentResponse, Request};
use myriad_exchange::runtime::Place;

/// Applies the status of `error_page` to the response. Evaluates the conditions of the request for a 200 to GET or
/// HEAD, which may turn the response into a 304 or 412; not if the origin has evaluated the conditions.
pub(super) fn judge(request: &Request, place: &Place, answer: &mut ContentResponse) {
    if let Some(status) = request.errors.forced_status {
        answer.status = status;
        answer.reason = None;
    }
    // The origin has already evaluated the conditions for a response that it generated for this request only.
    if !is_whole(request, answer) || answer.conditions_evaluated {
        return;
    }
    match precondition_outcome(request, place, answer) {
        PreconditionOutcome::Pass => {}
        PreconditionOutcome::NotModified => {
            answer.status = 304;
            answer.reason = None;
            answer.body = ResponseBody::None;
        }
        PreconditionOutcome::Failed => *answer = error_answer(place, 412),
    }
}

/// Returns whether [`judge`] will turn the response into a 304, so that the body is not needed; false if `error_page`
/// sets the status.
#[cfg(feature = "image")]
pub(super) fn is_unchanged(request: &Request, place: &Place, answer: &ContentResponse) -> bool {
    if request.errors.forced_status.is_some() || !is_whole(request, answer) || answer.conditions_evaluated {
        return false;
    }
    matches!(precondition_outcome(request, place, answer), PreconditionOutcome::NotModified)
}

fn precondition_outcome(request: &Request, place: &Place, answer: &ContentResponse) -> PreconditionOutcome {
    let now_s = request.received.at_ms / 1000;
    let validators = ranges::validators(answer, answer.tag(place.files.etag), now_s);
    judge_conditions(request.received.head.fields(), &validators, place.files.if_modified_since, now_s)
}

/// Returns whether conditions and ranges of the request apply to the response: it is a 200 to GET or HEAD.
pub(super) fn is_whole(request: &Request, answer: &ContentResponse) -> bool {
    answer.status == 200 && matches!(request.received.head.method(), Method::Get | Method::Head)
}
