//! Users of a listener's sockets; its hub terminates once no acceptor is left.

use std::cell::Cell;
use std::rc::{Rc, Weak};
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

/// Acceptors of a listener; dropping the last of them shuts down its clients.
#[derive(Clone)]
pub(crate) struct AcceptorRefs(Rc<AcceptorRefsInner>);

struct AcceptorRefsInner {
    gone: Rc<Cell<bool>>,
    task: Mutex<Option<Waker>>,
}

impl AcceptorRefs {
    /// Creates the first acceptor.
    pub(super) fn new() -> Self {
        Self(Rc::new(AcceptorRefsInner { gone: Rc::default(), task: Mutex::default() }))
    }

    /// Returns a weak reference that later acceptors can join through.
    pub(crate) fn downgrade(&self) -> WeakAcceptorRefs {
        WeakAcceptorRefs { gone: Rc::clone(&self.0.gone), users: Rc::downgrade(&self.0) }
    }
}

/// Weak reference that shows whether acceptors are left.
pub(crate) struct WeakAcceptorRefs {
    gone: Rc<Cell<bool>>,
    users: Weak<AcceptorRefsInner>,
}

impl WeakAcceptorRefs {
    /// Joins the acceptors; `None` if no acceptor is left.
    pub(crate) fn join(&self) -> Option<AcceptorRefs> {
        self.users.upgrade().map(AcceptorRefs)
    }

    /// Returns whether no acceptor is left, so that clients must be shut down.
    pub(super) fn are_gone(&self) -> bool {
        self.gone.get()
    }

    /// Sets the task that the last acceptor wakes when it is dropped.
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
