//! `stub_status`: a few counts, in nginx's words.

use bytes::Bytes;
use myriad_http::Method;
use myriad_net::ResponseBody;

use super::Step;
use crate::exchange::Exchange;
use crate::output::Answer;

/// Tells what all workers have under way.
pub(super) fn begin(exchange: &Exchange) -> Step {
    if !matches!(exchange.request.head.method(), Method::Get | Method::Head) {
        return Step::Error(405);
    }
    let now = exchange.request.site.worker.everybody();
    let (accepted, requests) = (now.accepted, now.begun);
    let (active, reading, writing, waiting) = (now.active(), now.reading, now.writing(), now.waiting());
    let text = format!(
        "Active connections: {active} \n\
         server accepts handled requests\n \
         {accepted} {accepted} {requests} \n\
         Reading: {reading} Writing: {writing} Waiting: {waiting} \n"
    );
    let mut answer = Answer::new(200, ResponseBody::Full(Bytes::from(text)));
    answer.media_type = Some(b"text/plain"[..].into());
    Step::Answer(answer)
}
