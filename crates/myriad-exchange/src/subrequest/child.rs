//! Subrequest in progress, which is counted and logged when it is dropped.

use crate::access_log;
use crate::exchange::Exchange;

/// Subrequest, and the number of bytes read from its response. Dropping it counts its cache status, and writes its
/// access log line if `log_subrequest` is on.
pub(super) struct Child {
    /// Exchange of the subrequest.
    pub(super) exchange: Box<Exchange>,
    /// Number of body bytes read.
    pub(super) bytes: u64,
    /// True if the body has been read to its end.
    pub(super) whole: bool,
}

impl Child {
    /// Creates a subrequest whose response has not been read yet.
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
        if request.outcome.head.status == 0 {
            request.outcome.head.status = 499;
        }
        request.outcome.sent.body_bytes = self.bytes;
        request.outcome.sent.bytes = self.bytes;
        request.outcome.sent.complete = self.whole;
        request.outcome.finished_ms = myriad_net::clock::now_ms();
        access_log::write(&mut self.exchange);
    }
}
