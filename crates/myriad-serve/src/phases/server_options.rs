//! `OPTIONS *`: capabilities of the server, independent of its locations (RFC 9110 section 9.3.7).

use bytes::Bytes;
use myriad_http::Method;
use myriad_net::ResponseBody;

use myriad_exchange::exchange::ContentResponse;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::exchange::Request;
use myriad_output::allow;

/// Returns whether the request is `OPTIONS *`.
pub(super) fn is_server_options(request: &Request) -> bool {
    request.received.head.target() == b"*" && request.received.head.method() == Method::Options
}

/// Returns the response to `OPTIONS *`: 200 with `Allow`. No rules or locations are evaluated.
pub(super) fn answer() -> PhaseStep {
    let mut answer = ContentResponse::new(200, ResponseBody::Full(Bytes::new()));
    answer.field(b"Allow", allow::of_server().as_bytes());
    PhaseStep::Answer(answer)
}
