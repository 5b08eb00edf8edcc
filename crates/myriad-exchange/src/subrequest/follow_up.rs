//! Subrequest that runs after a request has finished (`post_action`).

use std::future::{Future, poll_fn};

use super::execution::note;
use crate::access_log;
use crate::exchange::{Exchange, SubrequestStart, pull_body};

/// Maximum number of bytes of the response that are read (and discarded), so that the connection to the origin can be
/// reused. A longer response is aborted.
const MAX_READ: u64 = 1 << 20;

/// Runs a subrequest after the request `before` and discards its response. Writes one access log line for both, with
/// the numbers of bytes sent for `before`.
pub fn follow(
    child: Box<Exchange>,
    start: SubrequestStart,
    before: &Exchange,
) -> impl Future<Output = ()> + use<> {
    let mut following = FollowUpRequest { exchange: child, at_us: before.request.received.at_us };
    following.exchange.request.outcome.sent = before.request.outcome.sent;
    async move {
        let exchange = &mut *following.exchange;
        let engine = exchange.request.site.engine;
        let mut answer = engine.answer(exchange, start).await;
        note(exchange, &mut answer);
        let mut body = pull_body(answer.body);
        let mut read = 0;
        while read < MAX_READ
            && let Some(Ok(piece)) = poll_fn(|cx| body.as_mut().poll_data(cx)).await
        {
            read += piece.len() as u64;
        }
    }
}

/// Subrequest that writes the access log line on drop, when it is finished or cancelled.
struct FollowUpRequest {
    exchange: Box<Exchange>,
    /// Time at which the head of the preceding request was complete, in microseconds of the process clock.
    at_us: u64,
}

impl Drop for FollowUpRequest {
    fn drop(&mut self) {
        let request = &mut self.exchange.request;
        request.count_cache_status(0);
        if request.outcome.head.status == 0 {
            request.outcome.head.status = request.outcome.sent.status;
        }
        request.received.set_time_us(self.at_us);
        request.outcome.finished_ms = myriad_net::clock::now_ms();
        access_log::write(&mut self.exchange);
    }
}
