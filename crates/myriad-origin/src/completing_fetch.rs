//! Fetch that continues after its client has disconnected (`*_ignore_client_abort`).

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use myriad_upstream::{OriginError, OriginResponse, SentTracker};

type Fetched = Result<Box<OriginResponse>, OriginError>;

/// Fetch of a response, up to its head. If it is dropped earlier and a connection to a peer has been established, a new
/// task continues it up to the last byte of the response. Without such a connection it is cancelled, because no peer
/// has received the request.
///
/// While the client waits, the fetch is not a task, which avoids the cost of spawning and waking a task for each
/// request.
pub(crate) struct CompletingFetch {
    fetching: Option<Pin<Box<dyn Future<Output = Fetched>>>>,
    sent: SentTracker,
}

impl CompletingFetch {
    /// Creates the fetch; `sent` reports whether `fetching` has established a connection to a peer.
    pub(crate) fn new(fetching: impl Future<Output = Fetched> + 'static, sent: SentTracker) -> Self {
        Self { fetching: Some(Box::pin(fetching)), sent }
    }
}

impl Future for CompletingFetch {
    type Output = Fetched;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Fetched> {
        // Not polled again once it is ready. After a panic, the fetch is gone, so that it does not continue and its
        // connection is closed.
        let Some(mut fetching) = self.fetching.take() else { return Poll::Pending };
        let fetched = fetching.as_mut().poll(cx);
        if fetched.is_pending() {
            self.fetching = Some(fetching);
        }
        fetched
    }
}

impl Drop for CompletingFetch {
    fn drop(&mut self) {
        let Some(fetching) = self.fetching.take_if(|_| self.sent.has_begun()) else { return };
        // The task is cancelled when its worker shuts down.
        tokio::task::spawn_local(async move {
            if let Ok(mut response) = fetching.await {
                while let Some(Ok(_)) = poll_fn(|cx| response.body.as_mut().poll_data(cx)).await {}
            }
        });
    }
}
