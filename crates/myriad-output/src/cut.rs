//! `Range`: parts of a complete response.

use myriad_base::calendar::parse_http_date;
use myriad_http::Known;
use myriad_policy::EntityTag;
use myriad_script::Frame;

use super::conditions::is_whole;
use super::error_answer::error_answer;
use super::head::{ETAG, LAST_MODIFIED};
use super::ranges;
use myriad_exchange::exchange::{Answer, Request};
use myriad_exchange::runtime::Place;

/// Reduces a response to the requested ranges.
pub(super) fn cut(request: &Request, frame: &mut Frame, place: &Place, answer: &mut Answer) {
    if answer.ranges && request.received.head.fields().has(Known::Range) && is_whole(request, answer) {
        let now_s = request.received.at_ms / 1000;
        let own = answer.own_tag();
        let tag = own.as_ref().or_else(|| answer.tag(place.files.etag));
        let mut validators = ranges::validators(answer, tag, now_s);
        // The client's validators of an earlier response are those that `add_header` has set.
        let said = |frame: &mut Frame, name| said_instead(request, frame, place, name);
        if let Some(modified) = said(frame, LAST_MODIFIED) {
            validators.last_modified_s = parse_http_date(&modified, now_s);
        }
        let replaced = said(frame, ETAG).map(|tag| EntityTag::from_origin(&tag, answer.coding));
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

/// Returns the value that `add_header` replaces a validator by; empty if it removes the field.
fn said_instead(request: &Request, frame: &mut Frame, place: &Place, name: &[u8]) -> Option<Vec<u8>> {
    place.headers.replaced.iter().find(|(replaced, _)| *replaced == name)?;
    let mut value = Vec::new();
    let mut added = place.headers.add.iter().filter(|field| field.is_added(true));
    if let Some(field) = added.find(|field| field.name.eq_ignore_ascii_case(name)) {
        field.value.eval(request, frame, &mut value).ok()?;
    }
    Some(value)
}
