//! Limit of background requests (`mirror`, `post_action`) of a worker: each occupies memory for the data of its client
//! request.

use std::cell::Cell;
use std::rc::Rc;

use tokio::sync::Notify;

/// Maximum number of concurrent background requests of one kind (mirrored requests or post actions) in a worker.
pub(crate) const MAX_CONCURRENT: usize = 512;

/// Counter of the background requests of one kind (mirrored requests or post actions) in a worker.
#[derive(Default)]
pub(crate) struct BackgroundRequests {
    /// Number of requests in progress.
    count: Cell<usize>,
    /// Notified when no request of this kind is in progress any more.
    over: Notify,
}

impl BackgroundRequests {
    /// Counts another request; `None`, without counting it, if [`MAX_CONCURRENT`] requests are in progress.
    pub(crate) fn begin(self: &Rc<Self>) -> Option<BackgroundGuard> {
        let others = self.count.get();
        (others < MAX_CONCURRENT).then(|| {
            self.count.set(others + 1);
            BackgroundGuard(Rc::clone(self))
        })
    }

    /// Waits until no request is in progress.
    pub(crate) async fn wait_until_idle(&self) {
        while self.count.get() > 0 {
            self.over.notified().await;
        }
    }
}

/// Guard of a counted request; dropping it decrements the count.
pub(crate) struct BackgroundGuard(Rc<BackgroundRequests>);

impl Drop for BackgroundGuard {
    fn drop(&mut self) {
        let others = self.0.count.get() - 1;
        self.0.count.set(others);
        if others == 0 {
            self.0.over.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Future, poll_fn};
    use std::task::Poll;

    use super::*;

    #[test]
    fn requests_are_bounded_and_the_end_waits_for_the_last() {
        let under_way = Rc::<BackgroundRequests>::default();
        let mut turns: Vec<_> = (0..MAX_CONCURRENT).map(|_| under_way.begin()).collect();
        assert!(turns.iter().all(Option::is_some));
        assert!(under_way.begin().is_none());
        let last = turns.pop();
        drop(turns);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut end = Box::pin(under_way.wait_until_idle());
            let waits = poll_fn(|cx| Poll::Ready(end.as_mut().poll(cx).is_pending()));
            assert!(waits.await);
            drop(last);
            end.await;
        });
    }
}
