//! `OPTIONS *`: what the server itself can do, whatever its locations are (RFC 9110 section 9.3.7).

use bytes::Bytes;
use myriad_http::Method;
use myriad_net::ResponseBody;

use myriad_exchange::exchange::Answer;
use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::Step;
use myriad_output::allow;

/// Whether the request is for the server, not for a resource of it.
pub(super) fn are_asked(request: &Request) -> bool {
    request.received.head.target() == b"*" && request.received.head.method() == Method::Options
}

/// The answer: no rule and no location is asked.
pub(super) fn answer() -> Step {
    let mut answer = Answer::new(200, ResponseBody::Full(Bytes::new()));
    answer.field(b"Allow", allow::of_server().as_bytes());
    Step::Answer(answer)
}
