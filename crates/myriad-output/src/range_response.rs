//! Reduction of a complete response to the ranges in `Range`.

use myriad_base::calendar::parse_http_date;
use myriad_http::Known;
use myriad_policy::EntityTag;
use myriad_script::Frame;

use super::conditions::is_whole;
use super::error_answer::error_answer;
use super::head::{ETAG, LAST_MODIFIED};
use super::ranges;
use myriad_exchange::exchange::{ContentResponse, Request};
use myriad_exchange::runtime::Place;

/// Reduces a response to the requested ranges, or replaces it by a 416. Does nothing without `Range`, or if ranges do
/// not apply to the response.
pub(super) fn apply_ranges(
    request: &Request,
    frame: &mut Frame,
    place: &Place,
    answer: &mut ContentResponse,
) {
    if answer.ranges && request.received.head.fields().has(Known::Range) && is_whole(request, answer) {
        let now_s = request.received.at_ms / 1000;
        let own = answer.own_tag();
        let tag = own.as_ref().or_else(|| answer.tag(place.files.etag));
        let mut validators = ranges::validators(answer, tag, now_s);
        // The client has the validators that `add_header` set in an earlier response.
        let replacement = |frame: &mut Frame, name| replacement_value(request, frame, place, name);
        if let Some(modified) = replacement(frame, LAST_MODIFIED) {
            validators.last_modified_s = parse_http_date(&modified, now_s);
        }
        let replaced = replacement(frame, ETAG).map(|tag| EntityTag::from_origin(&tag, answer.coding));
        if let Some(tag) = &replaced {
            validators.tag = tag.as_ref();
        }
        let plan = ranges::plan(request, answer, &validators);
        if let Err(content_range) = ranges::apply(answer, &plan) {
            *answer = error_answer(place, 416);
            answer.field(b"Content-Range", content_range.as_bytes());
        }
    }
}

/// Returns the value by which `add_header` replaces a validator, empty if it removes the field; `None` if it does not
/// change the field, or if its value cannot be evaluated.
fn replacement_value(request: &Request, frame: &mut Frame, place: &Place, name: &[u8]) -> Option<Vec<u8>> {
    place.headers.replaced.iter().find(|(replaced, _)| *replaced == name)?;
    let mut value = Vec::new();
    let mut added = place.headers.add.iter().filter(|field| field.is_added(true));
    if let Some(field) = added.find(|field| field.name.eq_ignore_ascii_case(name)) {
        field.value.eval(request, frame, &mut value).ok()?;
    }
    Some(value)
}
