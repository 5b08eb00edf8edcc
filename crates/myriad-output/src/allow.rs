//! `Allow`: the methods that a 405 or an `OPTIONS` says are taken (RFC 9110 section 10.2.1).

use myriad_http::{Known, Method};
use myriad_net::Head;

use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::{Answer, MadeFrom, MethodHandler};

/// What a server may do for some of its URIs.
const OF_A_SERVER: &[Method] =
    &[Method::Get, Method::Head, Method::Post, Method::Put, Method::Patch, Method::Delete, Method::Options];
/// What can be done with a file.
const OF_FILES: &[Method] = &[Method::Get, Method::Head];

/// Adds the field to a 405 that is this server's own (RFC 9110 section 15.5.6), unless the configuration has done so: what an
/// origin said of its methods is not for a proxy to change.
pub(super) fn add(request: &Request, answer: &Answer, head: &mut Head) {
    if answer.status != 405 || is_the_origin_s(request, answer) {
        return;
    }
    if head.iter().any(|(name, _)| name.eq_ignore_ascii_case(Known::Allow.as_str().as_bytes())) {
        return;
    }
    let refused = request.received.head.method();
    // No place was chosen for these.
    let has_no_place = matches!(refused, Method::Trace | Method::Connect);
    let place = request.place();
    let only_reads = place.handler.only_reads() && place.features.get::<Box<dyn MethodHandler>>().is_none();
    let all = if !has_no_place && only_reads { OF_FILES } else { OF_A_SERVER };
    head.field(b"Allow", list(all.iter().filter(|method| **method != refused)).as_bytes());
}

/// The value for the server as a whole.
pub fn of_server() -> String {
    list(OF_A_SERVER.iter())
}

fn is_the_origin_s(request: &Request, answer: &Answer) -> bool {
    let said = request.origin.as_ref().and_then(|facts| facts.head.as_ref()).map(|head| head.status);
    said == Some(405) || matches!(&answer.made_from, MadeFrom::Page(page) if page.meta().status == 405)
}

fn list<'a>(methods: impl Iterator<Item = &'a Method>) -> String {
    methods.map(|method| method.as_str()).collect::<Vec<_>>().join(", ")
}
