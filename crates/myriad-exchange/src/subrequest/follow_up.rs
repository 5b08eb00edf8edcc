//! Subrequest that follows a finished request.

use std::future::{Future, poll_fn};

use super::execution::note;
use crate::access_log;
use crate::exchange::{Exchange, SubrequestStart, pull_body};

/// Number of response bytes read to make the origin's connection reusable; a longer response is aborted.
const MAX_READ: u64 = 1 << 20;

/// Runs a subrequest whose response is discarded, and writes one log line for it and the previous request, with the
/// sent bytes of the previous request.
pub fn follow(
    child: Box<Exchange>,
    start: SubrequestStart,
    before: &Exchange,
) -> impl Future<Output = ()> + use<> {
    let mut following = FollowUpRequest { exchange: child, at_ms: before.request.received.at_ms };
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

/// Subrequest that writes the log line when it finishes or is cancelled.
struct FollowUpRequest {
    exchange: Box<Exchange>,
    /// Time at which the head of the previous request was complete, in milliseconds since the epoch.
    at_ms: u64,
}

impl Drop for FollowUpRequest {
    fn drop(&mut self) {
        let request = &mut self.exchange.request;
        request.count_cache_status(0);
        if request.outcome.head.status == 0 {
            request.outcome.head.status = request.outcome.sent.status;
        }
        request.received.at_ms = self.at_ms;
        request.outcome.finished_ms = myriad_net::clock::now_ms();
        access_log::write(&mut self.exchange);
    }
}
