//! A value that another thread will give.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

enum State<T> {
    Waiting(Option<Waker>),
    Given(T),
    /// The giver was dropped, or the value was taken.
    Gone,
}

/// Gives the value. Dropped before, it ends the wait without one.
pub struct Giver<T>(Arc<Mutex<State<T>>>);

/// Waits for the value; `None` comes where the giver was dropped.
pub struct Ticket<T>(Arc<Mutex<State<T>>>);

/// A value to come: who gives it, and who waits for it.
pub fn ticket<T>() -> (Giver<T>, Ticket<T>) {
    let state = Arc::new(Mutex::new(State::Waiting(None)));
    (Giver(Arc::clone(&state)), Ticket(state))
}

impl<T> Giver<T> {
    /// Gives the value and wakes the task that waits.
    pub fn give(self, value: T) {
        self.end(State::Given(value));
    }

    fn end(&self, end: State<T>) {
        let former = {
            let mut state = self.0.lock();
            if !matches!(*state, State::Waiting(_)) {
                return;
            }
            std::mem::replace(&mut *state, end)
        };
        if let State::Waiting(Some(waker)) = former {
            waker.wake();
        }
    }
}

impl<T> Drop for Giver<T> {
    fn drop(&mut self) {
        self.end(State::Gone);
    }
}

impl<T> Future for Ticket<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mut state = self.0.lock();
        if let State::Waiting(waker) = &mut *state {
            *waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        match std::mem::replace(&mut *state, State::Gone) {
            State::Given(value) => Poll::Ready(Some(value)),
            _ => Poll::Ready(None),
        }
    }
}
