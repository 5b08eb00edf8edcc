//! References to a QUIC listener by its acceptors. The listener's task ends once none is left.

use std::cell::Cell;
use std::rc::{Rc, Weak};
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

/// Shared reference that keeps a QUIC listener accepting. When the last one is dropped, the clients of the listener are
/// shut down.
#[derive(Clone)]
pub(crate) struct AcceptorRefs(Rc<AcceptorRefsInner>);

struct AcceptorRefsInner {
    gone: Rc<Cell<bool>>,
    task: Mutex<Option<Waker>>,
}

impl AcceptorRefs {
    /// Creates the reference of the first acceptor of a QUIC listener.
    pub(super) fn new() -> Self {
        Self(Rc::new(AcceptorRefsInner { gone: Rc::default(), task: Mutex::default() }))
    }

    /// Returns a weak reference, from which further acceptors of the same listener can get their reference.
    pub(crate) fn downgrade(&self) -> WeakAcceptorRefs {
        WeakAcceptorRefs { gone: Rc::clone(&self.0.gone), users: Rc::downgrade(&self.0) }
    }
}

/// Weak reference, by which the listener's task detects that no acceptor is left.
pub(crate) struct WeakAcceptorRefs {
    gone: Rc<Cell<bool>>,
    users: Weak<AcceptorRefsInner>,
}

impl WeakAcceptorRefs {
    /// Returns a reference for a further acceptor; `None` if all acceptors are gone.
    pub(crate) fn join(&self) -> Option<AcceptorRefs> {
        self.users.upgrade().map(AcceptorRefs)
    }

    /// Returns true if no acceptor is left, so that clients must be shut down.
    pub(super) fn are_gone(&self) -> bool {
        self.gone.get()
    }

    /// Sets the task of the listener, to wake when the last acceptor is dropped.
    pub(super) fn set_task(&self, task: &Waker) {
        if let Some(users) = self.users.upgrade() {
            *users.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.clone());
        }
    }
}

impl Drop for AcceptorRefsInner {
    fn drop(&mut self) {
        self.gone.set(true);
        let task = self.task.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.wake();
        }
    }
}
