//! Response to a certificate authority that validates the control of a domain (`http-01`, RFC 8555 section 8.3).

use bytes::Bytes;
use myriad_http::Method;
use myriad_net::ResponseBody;

use myriad_exchange::exchange::ContentResponse;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::exchange::PhaseStep;

/// Returns whether any ACME challenge is pending; requests then do not use stored routing results (the shortcut), which
/// would bypass the response to it.
pub(super) fn is_pending(exchange: &Exchange) -> bool {
    exchange.request.site.runtime.acme.as_ref().is_some_and(|plan| plan.challenges.are_pending())
}

/// Returns the response if this is a GET or HEAD request for the token of a pending ACME challenge. It takes precedence
/// over all rules of the server. Returns `None` for any other request, which is then processed as usual.
pub(super) fn answer(exchange: &mut Exchange) -> Option<PhaseStep> {
    let request = &exchange.request;
    let challenges = &request.site.runtime.acme.as_ref()?.challenges;
    if !matches!(request.received.head.method(), Method::Get | Method::Head) {
        return None;
    }
    let path = request.received.head.target().split(|byte| *byte == b'?').next()?;
    let answer = challenges.http_response(path)?;
    let mut answer = ContentResponse::new(200, ResponseBody::Full(Bytes::copy_from_slice(answer.as_bytes())));
    answer.media_type = Some(b"application/octet-stream"[..].into());
    Some(PhaseStep::Answer(answer))
}
