//! Value of `Allow` in a 405 response and in the response to `OPTIONS *` (RFC 9110 section 10.2.1).

use myriad_http::{Known, Method, MethodSet};
use myriad_net::ResponseText;

use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::{ContentResponse, ResponseSource};

/// Methods in the `Allow` field of the response to `OPTIONS *`: those that at least one resource of a server may
/// support.
pub const SERVER_METHODS: MethodSet = MethodSet::of(&[
    Method::Get,
    Method::Head,
    Method::Post,
    Method::Put,
    Method::Patch,
    Method::Delete,
    Method::Options,
]);

/// Adds `Allow` to a 405 by which this server rejects the method (RFC 9110 section 15.5.6), unless the head already has
/// it. For a 405 of the configuration (`return 405`, `error_page`) or of an origin, the supported methods are not
/// known.
pub(super) fn add(request: &Request, answer: &ContentResponse, head: &mut ResponseText) {
    let supported = request.errors.supported;
    if answer.status != 405 || supported.is_empty() || is_of_origin(request, answer) {
        return;
    }
    if head.iter().any(|(name, _)| name.eq_ignore_ascii_case(Known::Allow.as_str().as_bytes())) {
        return;
    }
    let refused = request.received.head.method();
    head.append_field(b"Allow", list(supported.iter().filter(|method| *method != refused)).as_bytes());
}

/// Returns the value of `Allow` in the response to `OPTIONS *`: [`SERVER_METHODS`], separated by commas.
pub fn of_server() -> String {
    list(SERVER_METHODS.iter())
}

fn is_of_origin(request: &Request, answer: &ContentResponse) -> bool {
    let status = request.origin.as_ref().and_then(|facts| facts.head.as_ref()).map(|head| head.status);
    status == Some(405) || matches!(&answer.source, ResponseSource::Page(page) if page.meta().status == 405)
}

fn list(methods: impl Iterator<Item = Method>) -> String {
    methods.map(Method::as_str).collect::<Vec<_>>().join(", ")
}
