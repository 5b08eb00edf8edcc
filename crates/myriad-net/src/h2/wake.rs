//! Wakers of the streams of an HTTP/2 connection. Only woken streams are polled, not all waiting streams.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Set of the streams of an HTTP/2 connection whose wakers have run since the last poll.
pub(super) struct WokenStreams {
    shared: Arc<Shared>,
}

struct Shared {
    streams: Mutex<Vec<u32>>,
    /// Waker of the task that drives the connection.
    task: Mutex<Waker>,
}

/// Waker of one stream: adds the stream to the set of woken streams and wakes the task of the connection.
pub(super) struct StreamWaker {
    stream: u32,
    is_woken: AtomicBool,
    shared: Arc<Shared>,
}

impl WokenStreams {
    pub(super) fn new(task: &Waker) -> Self {
        Self { shared: Arc::new(Shared { streams: Mutex::default(), task: Mutex::new(task.clone()) }) }
    }

    /// Sets the task that is woken together with any stream.
    pub(super) fn set_task(&self, task: &Waker) {
        self.shared.task.lock().unwrap_or_else(PoisonError::into_inner).clone_from(task);
    }

    /// Creates the waker of a stream.
    pub(super) fn waker(&self, stream: u32) -> Arc<StreamWaker> {
        Arc::new(StreamWaker { stream, is_woken: AtomicBool::new(false), shared: Arc::clone(&self.shared) })
    }

    /// Moves the streams woken since the last call into `out`, each once.
    pub(super) fn take(&self, out: &mut Vec<u32>) {
        out.clear();
        std::mem::swap(out, &mut self.shared.streams.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl StreamWaker {
    /// Allows the waker to add its stream to the set again. Called when the stream is about to be polled.
    pub(super) fn rearm(&self) {
        self.is_woken.store(false, Ordering::Release);
    }
}

impl Wake for StreamWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.is_woken.swap(true, Ordering::AcqRel) {
            return;
        }
        self.shared.streams.lock().unwrap_or_else(PoisonError::into_inner).push(self.stream);
        // The lock is released before the task is woken, because the task may run immediately.
        let task = self.shared.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        task.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn woken_stream_is_reported_once_until_rearmed() {
        let woken = WokenStreams::new(Waker::noop());
        let (first, second) = (woken.waker(1), woken.waker(3));
        let mut streams = Vec::new();
        for waker in [&second, &first, &second] {
            waker.wake_by_ref();
        }
        woken.take(&mut streams);
        assert_eq!(streams, [3, 1]);
        first.wake_by_ref();
        woken.take(&mut streams);
        assert!(streams.is_empty());
        first.rearm();
        first.wake_by_ref();
        woken.take(&mut streams);
        assert_eq!(streams, [1]);
    }
}
