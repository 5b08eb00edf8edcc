//! Value that another thread will provide.

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

/// Provider of the value. Dropping it completes the wait without a value.
pub struct Giver<T>(Arc<Mutex<State<T>>>);

/// Future of the value; `None` if the giver was dropped.
pub struct Ticket<T>(Arc<Mutex<State<T>>>);

/// Creates a giver of a value, and the ticket that waits for the value.
pub fn ticket<T>() -> (Giver<T>, Ticket<T>) {
    let state = Arc::new(Mutex::new(State::Waiting(None)));
    (Giver(Arc::clone(&state)), Ticket(state))
}

impl<T> Giver<T> {
    /// Provides the value and wakes the waiting task.
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
