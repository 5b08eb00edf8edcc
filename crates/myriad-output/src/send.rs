//! Last step of each exchange: converts the result of the content handler to the response that the driver sends.
//!
//! ```text
//! joined slices -> conditions -> filters -> coding -> ranges -> trailers -> head
//! ```

use std::rc::Rc;

use myriad_http::HttpVersion;
use myriad_net::{Response, ResponseBody, ResponseText};

use super::encoding::encode;
use super::headers::add_header;
use super::headers::expires::{is_decorated, write_expires};
use super::headers::trailers;
#[cfg(feature = "nginx-extras")]
use super::userid::{self, Userid};
use super::{allow, cache_debug, conditions, filters, head, keepalive, range_response, rate, slice};
use myriad_exchange::exchange::{ContentResponse, Exchange, HeadEdit, Request};
use myriad_exchange::runtime::Place;

/// Converts the result of a content handler to the response that the driver sends.
pub fn send(mut exchange: Box<Exchange>, mut answer: ContentResponse) -> Response<Box<Exchange>> {
    let site = Rc::clone(&exchange.request.site);
    let place = site.runtime.place(exchange.request.route.place);
    // The first slice may have been requested in another location (`X-Accel-Redirect`).
    if exchange.request.cache.slice.get().is_some() {
        slice::assemble(&mut exchange, &mut answer);
    }
    if answer.dropped {
        return dropped(exchange, place, &answer);
    }
    carry(&mut exchange.request, &mut answer);
    conditions::judge(&exchange.request, place, &mut answer);
    let reads_change = place.headers.expires.reads_change();
    let modified_s = if reads_change { answer.modified_s(exchange.request.received.wall_s()) } else { None };
    let edit = place.features.get::<Box<dyn HeadEdit>>();
    if let Some(edit) = edit {
        edit.set_media_type(&mut exchange, &mut answer);
    }
    filters::apply(&mut exchange, place, &mut answer);
    let Exchange { frame, request } = &mut *exchange;
    encode(request, &mut answer);
    let uncut = answer.status;
    range_response::apply_ranges(request, frame, place, &mut answer);
    let wants_trailers = answer.passes_trailers || !place.headers.trailers.is_empty();
    let has_trailers = wants_trailers && trailers::expect(request, place, &mut answer);
    let mut head = head::begin(request, place, &answer);
    if site.runtime.reads_sent_fields {
        // `expires $map` and `add_header` may read fields of the response itself.
        head::publish_fields(request, place, &answer);
    }
    request.outcome.head.status = answer.status;
    let expires = is_decorated(answer.status)
        && !answer.personal
        && write_expires(request, frame, modified_s, head.text_mut());
    if expires || place.headers.sets_freshness {
        // The new lifetime starts now, independent of the age of the page.
        answer.age_s = None;
    }
    head::write_fields(place, &answer, expires, &mut head);
    // As in nginx, a 416 gets the fields that the response would have had before the ranges were evaluated.
    let decorated = if answer.status == 416 { uncut } else { answer.status };
    if let Some(edit) = edit {
        edit.edit(request, frame, (&answer, decorated), &mut head);
    }
    add_header::add(request, frame, place, (decorated, answer.personal), &mut head);
    #[cfg(feature = "nginx-extras")]
    if let Some(rules) = place.features.get::<Userid>() {
        userid::add(request, frame, rules, &mut head);
    }
    allow::add(request, &answer, &mut head);
    if let Some(rules) = &place.headers.debug {
        cache_debug::add(request, rules, &answer, &mut head);
    }
    keep_facts(request, &answer, &head);
    let rate = rate::rate(request, frame, place, &answer);
    let close =
        answer.close && !shares_connection(request) || keepalive::ends(request, &place.connection.keepalive);
    let mut response = Response::new(head, answer.body, exchange);
    response.close = close;
    response.chunked = place.connection.chunked;
    response.keepalive_header_s = place.connection.keepalive_header_s;
    response.timeouts = place.connection.timeouts;
    response.rate = rate;
    response.frame = place.connection.frame;
    response.postponed = answer.postponed;
    response.trailers = has_trailers.then_some(trailers::write);
    response
}

/// Returns a response that closes the connection without sending anything.
fn dropped(mut exchange: Box<Exchange>, place: &Place, answer: &ContentResponse) -> Response<Box<Exchange>> {
    exchange.request.outcome.head.status = answer.status;
    let mut response = Response::new(ResponseText::new(answer.status, ""), ResponseBody::None, exchange);
    response.drop_connection = true;
    response.close = true;
    response.timeouts = place.connection.timeouts;
    response
}

/// Adds the media type, header lines and `Location` that an earlier step stored for this response: fields of a response
/// that redirected to this location (`X-Accel-Redirect`), or of a rejection.
fn carry(request: &mut Request, answer: &mut ContentResponse) {
    let Some(carried) = request.errors.carried.take() else { return };
    answer.media_type = carried.media_type.map(Into::into).or(answer.media_type.take());
    answer.lines.extend_from_slice(&carried.lines);
    if let Some(location) = carried.location.filter(|_| !answer.has(b"location")) {
        answer.field(b"Location", &location);
    }
}

/// Returns whether the connection may have other requests in progress, so that it must not be closed with this
/// response.
fn shares_connection(request: &Request) -> bool {
    matches!(request.received.head.version(), HttpVersion::Http2 | HttpVersion::Http3)
}

/// Stores properties of the response for logs and variables.
fn keep_facts(request: &mut Request, answer: &ContentResponse, head: &ResponseText) {
    request.outcome.head.coding = answer.coding;
    request.outcome.head.uncompressed = answer.uncompressed;
    // Logs and trailers may read fields of the response, possibly through a map.
    if request.site.runtime.reads_sent_fields {
        request.outcome.head.fields = head.fields().to_vec();
        // As in nginx, the media type in logs includes the charset.
        request.outcome.head.unnamed_type = None;
    }
}
