//! `add_trailer`: fields after the body, whose values may depend on the complete body.

use myriad_http::{HttpVersion, Method};
use myriad_net::ResponseBody;

use super::expires::is_decorated;
use myriad_exchange::exchange::ContentResponse;
use myriad_exchange::exchange::{Exchange, Request, exchange_buffers, pull_body};
use myriad_exchange::runtime::Place;

/// Returns whether trailers may follow the response. If so, converts its body to a stream without a stated length.
/// False without trailers, for a response without body, for HTTP/1.0, and with `chunked_transfer_encoding off`. Must be
/// called before the head is written.
pub(crate) fn expect(request: &Request, place: &Place, answer: &mut ContentResponse) -> bool {
    let decorated = is_decorated(answer.status);
    let any = answer.passes_trailers || place.headers.trailers.iter().any(|field| field.is_added(decorated));
    let bodiless =
        request.received.head.method() == Method::Head || matches!(answer.status, 100..=199 | 204 | 304);
    if !any || bodiless || request.received.head.version() == HttpVersion::Http10 || !place.connection.chunked
    {
        return false;
    }
    let body = std::mem::replace(&mut answer.body, ResponseBody::None);
    answer.body = ResponseBody::Stream(pull_body(body), None);
    answer.length = None;
    true
}

/// Appends the trailers of the origin and of the location to `out`, after the body, and records them for
/// `$sent_trailer_*`.
pub(crate) fn write(exchange: &mut Box<Exchange>, out: &mut Vec<u8>) {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let place = site.runtime.place(exchange.request.route.place);
    let decorated = is_decorated(exchange.request.outcome.head.status);
    pass_on(&mut exchange.request, place);
    for field in place.headers.trailers.iter().filter(|field| field.is_added(decorated)) {
        let Exchange { frame, request } = &mut **exchange;
        exchange_buffers::with_buffer(|line| {
            line.extend_from_slice(&field.name);
            line.extend_from_slice(b": ");
            let start = line.len();
            // A trailer that cannot be evaluated is omitted; the response itself is valid.
            if field.value.eval(request, frame, line).is_ok() && line.len() > start {
                line.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
                line.extend_from_slice(b"\r\n");
                // Later trailers may read the previous ones (`$sent_trailer_*`).
                request.outcome.head.trailers.extend_from_slice(line);
            }
        });
    }
    out.extend_from_slice(&exchange.request.outcome.head.trailers);
}

/// Forwards the origin's trailers, except fields that are not permitted in trailers (RFC 9110 section 6.5.1) and fields
/// that the location hides.
fn pass_on(request: &mut Request, place: &Place) {
    let Some(origin) = place.handler.origin() else { return };
    let Some(trailers) = request.origin.as_ref().and_then(|facts| facts.trailers.clone()) else { return };
    if !origin.protocol.passes_trailers() {
        return;
    }
    for (known, name, value) in trailers.borrow().iter_known() {
        if origin.passes_trailer(known, name) {
            for part in [name, b": ", value, b"\r\n"] {
                request.outcome.head.trailers.extend_from_slice(part);
            }
        }
    }
}
