//! A fetch that goes on when its client has gone (`*_ignore_client_abort`).

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use myriad_upstream::{OriginError, OriginResponse, Sent};

type Fetched = Result<Box<OriginResponse>, OriginError>;

/// A fetch up to the head of its answer. Dropped before, it goes on as a task of its own, up to the answer's last byte, where a
/// peer has begun with it; what no peer has begun with ends here: it would only keep others waiting.
///
/// So long as its client waits it is no task: that would be made, woken and ended once more for each request.
pub(crate) struct ToTheEnd {
    fetching: Option<Pin<Box<dyn Future<Output = Fetched>>>>,
    sent: Sent,
}

impl ToTheEnd {
    /// `sent` tells of the peers that `fetching` asks.
    pub(crate) fn new(fetching: impl Future<Output = Fetched> + 'static, sent: Sent) -> Self {
        Self { fetching: Some(Box::pin(fetching)), sent }
    }
}

impl Future for ToTheEnd {
    type Output = Fetched;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Fetched> {
        // Nobody polls what was ready. What panics is not put back: its connection ends with it, and it goes on nowhere.
        let Some(mut fetching) = self.fetching.take() else { return Poll::Pending };
        let fetched = fetching.as_mut().poll(cx);
        if fetched.is_pending() {
            self.fetching = Some(fetching);
        }
        fetched
    }
}

impl Drop for ToTheEnd {
    fn drop(&mut self) {
        let Some(fetching) = self.fetching.take_if(|_| self.sent.has_begun()) else { return };
        // A worker that ends takes its tasks with it, this one too: it asks nobody any more.
        tokio::task::spawn_local(async move {
            if let Ok(mut response) = fetching.await {
                while let Some(Ok(_)) = poll_fn(|cx| response.body.as_mut().poll_data(cx)).await {}
            }
        });
    }
}
