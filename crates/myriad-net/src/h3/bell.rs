//! What tells the task of a listener which of its streams to look at.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use quinn_proto::StreamId;

/// Whom a ring is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// The connection's place in the table of its listener.
    pub(super) place: usize,
    /// The connection's number, since places are used again.
    pub(super) connection: u64,
    /// The stream; none where it is about the connection.
    pub(super) stream: Option<StreamId>,
}

/// The calls that wait.
#[derive(Debug, Default)]
pub(super) struct Bell {
    state: Mutex<(Vec<Call>, Option<Waker>)>,
}

impl Bell {
    /// Sets which task is woken.
    pub(super) fn attend(&self, task: &Waker) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.1.as_ref().is_none_or(|known| !known.will_wake(task)) {
            state.1 = Some(task.clone());
        }
    }

    /// Takes the calls that wait.
    pub(super) fn take(&self) -> Vec<Call> {
        std::mem::take(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).0)
    }

    /// What rings for `call`.
    pub(super) fn waker(self: &Arc<Self>, call: Call) -> Waker {
        Waker::from(Arc::new(Rope { bell: Arc::clone(self), call }))
    }
}

struct Rope {
    bell: Arc<Bell>,
    call: Call,
}

impl Wake for Rope {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.bell.state.lock().unwrap_or_else(PoisonError::into_inner);
        // A stream that many pieces wake is looked at once.
        if state.0.last() != Some(&self.call) {
            state.0.push(self.call);
        }
        let task = state.1.clone();
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
    }
}
