//! The answer to an authority that asks whether a name is this server's (`http-01`, RFC 8555 section 8.3).

use bytes::Bytes;
use myriad_http::Method;
use myriad_net::ResponseBody;

use myriad_exchange::exchange::Answer;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::exchange::Step;

/// Whether any challenge is pending: then no request may take the short way past its answer.
pub(super) fn is_pending(exchange: &Exchange) -> bool {
    exchange.request.site.runtime.acme.as_ref().is_some_and(|plan| plan.challenges.are_pending())
}

/// The answer, while a challenge is pending and this request asks for its token: ahead of all rules of the server, which
/// know nothing of it. A wrong token is answered as any other request.
pub(super) fn answer(exchange: &mut Exchange) -> Option<Step> {
    let request = &exchange.request;
    let challenges = &request.site.runtime.acme.as_ref()?.challenges;
    if !matches!(request.received.head.method(), Method::Get | Method::Head) {
        return None;
    }
    let path = request.received.head.target().split(|byte| *byte == b'?').next()?;
    let answer = challenges.answer(path)?;
    let mut answer = Answer::new(200, ResponseBody::Full(Bytes::copy_from_slice(answer.as_bytes())));
    answer.media_type = Some(b"application/octet-stream"[..].into());
    Some(Step::Answer(answer))
}
