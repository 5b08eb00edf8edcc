//! Wakes of streams: a list by which the task of a listener knows which of them to look at.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use quinn_proto::StreamId;

/// A stream or connection that is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamWake {
    /// The connection's place in the table of its listener.
    pub(super) place: usize,
    /// The connection's number, since places are used again.
    pub(super) connection: u64,
    /// The stream; none where it is about the connection.
    pub(super) stream: Option<StreamId>,
}

/// The wakes that the task has not taken yet.
#[derive(Debug, Default)]
pub(super) struct StreamWakes {
    state: Mutex<(Vec<StreamWake>, Option<Waker>)>,
}

impl StreamWakes {
    /// Sets which task is woken.
    pub(super) fn attend(&self, task: &Waker) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.1.as_ref().is_none_or(|known| !known.will_wake(task)) {
            state.1 = Some(task.clone());
        }
    }

    /// Takes the wakes.
    pub(super) fn take(&self) -> Vec<StreamWake> {
        std::mem::take(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).0)
    }

    /// The waker that adds `wake` to the list.
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
        // A stream that many pieces wake is looked at once.
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
