//! Who accepts connections at a listener's sockets; its hub ends once nobody does.

use std::cell::Cell;
use std::rc::{Rc, Weak};
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

/// The acceptors of a listener; the last to be dropped sends its clients away.
#[derive(Clone)]
pub(crate) struct Users(Rc<UsersInner>);

struct UsersInner {
    gone: Rc<Cell<bool>>,
    task: Mutex<Option<Waker>>,
}

impl Users {
    /// The first acceptor.
    pub(super) fn new() -> Self {
        Self(Rc::new(UsersInner { gone: Rc::default(), task: Mutex::default() }))
    }

    /// What joins later acceptors to these as long as there are any.
    pub(crate) fn downgrade(&self) -> WeakUsers {
        WeakUsers { gone: Rc::clone(&self.0.gone), users: Rc::downgrade(&self.0) }
    }
}

/// Knows whether somebody accepts.
pub(crate) struct WeakUsers {
    gone: Rc<Cell<bool>>,
    users: Weak<UsersInner>,
}

impl WeakUsers {
    /// Joins those who accept, if there are any.
    pub(crate) fn join(&self) -> Option<Users> {
        self.users.upgrade().map(Users)
    }

    /// Whether nobody accepts any more: clients are to be sent away.
    pub(super) fn are_gone(&self) -> bool {
        self.gone.get()
    }

    /// Has the last acceptor wake this task as it goes.
    pub(super) fn attend(&self, task: &Waker) {
        if let Some(users) = self.users.upgrade() {
            *users.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.clone());
        }
    }
}

impl Drop for UsersInner {
    fn drop(&mut self) {
        self.gone.set(true);
        let task = self.task.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.wake();
        }
    }
}
