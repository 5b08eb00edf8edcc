//! Application of a location's filters to a response.

use std::rc::Rc;

use myriad_http::body::BoxBody;
use myriad_net::ResponseBody;

use super::gunzip;
use crate::head;
use myriad_exchange::exchange::{ContentResponse, Exchange, pull_body};
use myriad_exchange::runtime::Place;

/// Applies the filters of a location to a response that is about to be sent.
pub fn apply(exchange: &mut Exchange, place: &Place, answer: &mut ContentResponse) {
    for filter in place.filters.iter() {
        if exchange.request.runtime().reads_sent_fields && filter.reads_response_head() {
            head::publish_fields(&mut exchange.request, place, answer);
            exchange.request.outcome.head.unnamed_type = head::media_type(answer).map(Into::into);
        }
        filter.apply(exchange, answer);
    }
}

/// Returns the body of a subrequest's response for its parent request: decompressed if the client does not accept gzip,
/// and with the filters of the subrequest's location applied. A 204 or 304 has no body.
pub fn body_of_subrequest(exchange: &mut Exchange, mut answer: ContentResponse) -> BoxBody {
    let site = Rc::clone(&exchange.request.site);
    let place = site.runtime.place(exchange.request.route.place);
    if matches!(answer.status, 204 | 304) {
        return pull_body(ResponseBody::None);
    }
    gunzip::unpack(&exchange.request, &mut answer);
    for filter in place.filters.iter() {
        filter.apply(exchange, &mut answer);
    }
    pull_body(answer.body)
}
