//! List of the HTTP/3 streams that the task of a listener must process.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use quinn_proto::StreamId;

/// Wake-up of the listener's task: the connection, and if known the stream, that it must process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamWake {
    /// Index of the connection in the table of its listener.
    pub(super) place: usize,
    /// Serial number of the connection. Indexes are reused, so this detects wakes of an earlier connection.
    pub(super) connection: u64,
    /// The stream to process; `None` for the connection as a whole.
    pub(super) stream: Option<StreamId>,
}

/// Pending wakes of a listener, and the waker of its task.
#[derive(Debug, Default)]
pub(super) struct StreamWakes {
    state: Mutex<(Vec<StreamWake>, Option<Waker>)>,
}

impl StreamWakes {
    /// Sets the task that the wakers wake.
    pub(super) fn set_task(&self, task: &Waker) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.1.as_ref().is_none_or(|known| !known.will_wake(task)) {
            state.1 = Some(task.clone());
        }
    }

    /// Removes and returns all pending wakes.
    pub(super) fn take(&self) -> Vec<StreamWake> {
        std::mem::take(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Creates a waker that adds `wake` to the list of pending wakes and wakes the listener's task.
    pub(super) fn waker(self: &Arc<Self>, wake: StreamWake) -> Waker {
        Waker::from(Arc::new(StreamWaker { wakes: Arc::clone(self), wake }))
    }
}

struct StreamWaker {
    wakes: Arc<StreamWakes>,
    wake: StreamWake,
}

impl Wake for StreamWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.wakes.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Consecutive wakes of one stream are recorded once.
        if state.0.last() != Some(&self.wake) {
            state.0.push(self.wake);
        }
        let task = state.1.clone();
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
    }
}
