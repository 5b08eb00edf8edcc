//! Rate limit of a response (`limit_rate`).

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::Sleep;

use crate::clock::monotonic_ms;
use crate::response::RateLimit;

/// State of the rate limit of one response.
pub(crate) struct ResponsePacer {
    rate: RateLimit,
    /// Start of the response, in milliseconds since boot.
    began_ms: u64,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl ResponsePacer {
    /// Creates the rate limit of a response that starts now.
    pub(crate) fn new(rate: RateLimit) -> Self {
        Self { rate, began_ms: monotonic_ms(), sleep: None }
    }

    /// Returns the number of bytes that may be sent now, after `sent` body bytes; pending while there are none.
    /// Unlimited if `pace` is `None`.
    pub(crate) fn poll_room(pace: &mut Option<Self>, sent: u64, cx: &mut Context<'_>) -> Poll<usize> {
        let Some(pace) = pace else { return Poll::Ready(usize::MAX) };
        loop {
            let elapsed = monotonic_ms() - pace.began_ms;
            // As in nginx, the allowance of the first second is available immediately.
            let seconds = elapsed / 1000 + 1;
            let allowed = pace.rate.after.saturating_add(pace.rate.bytes_per_second.saturating_mul(seconds));
            if allowed > sent {
                return Poll::Ready(usize::try_from(allowed - sent).unwrap_or(usize::MAX));
            }
            let wait = Duration::from_millis(1000 - elapsed % 1000);
            let sleep = pace.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(wait)));
            ready!(sleep.as_mut().poll(cx));
            pace.sleep = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    #[test]
    fn a_rate_beyond_all_measure_holds_nothing_back() {
        let rate = RateLimit { bytes_per_second: u64::MAX, after: u64::MAX };
        let mut pace = Some(ResponsePacer::new(rate));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(matches!(ResponsePacer::poll_room(&mut pace, 1, &mut cx), Poll::Ready(1..)));
    }
}
