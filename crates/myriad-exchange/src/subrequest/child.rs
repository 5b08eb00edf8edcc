//! A subrequest under way.

use crate::access_log;
use crate::exchange::Exchange;

/// A subrequest, and what of its answer was taken; logged when it is over (`log_subrequest`).
pub(super) struct Child {
    /// The subrequest.
    pub(super) exchange: Box<Exchange>,
    /// Bytes of the body that were taken.
    pub(super) bytes: u64,
    /// Whether the body was taken to its end.
    pub(super) whole: bool,
}

impl Child {
    /// A subrequest of whose answer nothing was taken yet.
    pub(super) fn new(exchange: Box<Exchange>) -> Self {
        Self { exchange, bytes: 0, whole: false }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let request = &mut self.exchange.request;
        request.count_cache_status(self.bytes);
        if !request.place().logs.subrequests {
            return;
        }
        if request.outcome.answered.status == 0 {
            request.outcome.answered.status = 499;
        }
        request.outcome.sent.body_bytes = self.bytes;
        request.outcome.sent.bytes = self.bytes;
        request.outcome.sent.complete = self.whole;
        request.outcome.finished_ms = myriad_net::clock::now_ms();
        access_log::write(&mut self.exchange);
    }
}
