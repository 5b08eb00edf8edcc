//! Response to an error that is detected while a response is being sent.

use bytes::Bytes;
use myriad_net::ResponseBody;

use myriad_exchange::exchange::ContentResponse;
use myriad_exchange::responses::error_body::error_body;
use myriad_exchange::runtime::Place;

/// Returns a response with this status and the built-in error page.
pub(super) fn error_answer(place: &Place, status: u16) -> ContentResponse {
    let page = error_body(status, &place.headers.own.server_name);
    let mut answer = ContentResponse::new(status, ResponseBody::Full(Bytes::from(page)));
    answer.media_type = Some(b"text/html"[..].into());
    answer
}
