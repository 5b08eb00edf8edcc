//! References to a QUIC listener by its acceptors. Once no acceptor is left, the listener closes its connections, and
//! its task finishes.

use std::cell::Cell;
use std::rc::{Rc, Weak};
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

/// Shared reference of an acceptor to a QUIC listener. When the last reference is dropped, the listener accepts no more
/// connections, and its existing connections are shut down gracefully.
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

    /// Returns a weak reference, which further acceptors of the same listener can [join](WeakAcceptorRefs::join).
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

    /// Returns true if no acceptor is left, so that the connections must be shut down.
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
