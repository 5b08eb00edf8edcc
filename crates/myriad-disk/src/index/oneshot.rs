//! Value that another thread will provide.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

enum ValueState<T> {
    Waiting(Option<Waker>),
    Ready(T),
    /// The giver was dropped, or the value was taken.
    Gone,
}

/// Provider of the value. Dropping it completes the wait without a value.
pub struct ValueSender<T>(Arc<Mutex<ValueState<T>>>);

/// Future of the value; `None` if the giver was dropped.
pub struct ValueReceiver<T>(Arc<Mutex<ValueState<T>>>);

/// Creates a giver of a value, and the ticket that waits for the value.
pub fn value_channel<T>() -> (ValueSender<T>, ValueReceiver<T>) {
    let state = Arc::new(Mutex::new(ValueState::Waiting(None)));
    (ValueSender(Arc::clone(&state)), ValueReceiver(state))
}

impl<T> ValueSender<T> {
    /// Provides the value and wakes the waiting task.
    pub fn send(self, value: T) {
        self.end(ValueState::Ready(value));
    }

    fn end(&self, end: ValueState<T>) {
        let former = {
            let mut state = self.0.lock();
            if !matches!(*state, ValueState::Waiting(_)) {
                return;
            }
            std::mem::replace(&mut *state, end)
        };
        if let ValueState::Waiting(Some(waker)) = former {
            waker.wake();
        }
    }
}

impl<T> Drop for ValueSender<T> {
    fn drop(&mut self) {
        self.end(ValueState::Gone);
    }
}

impl<T> Future for ValueReceiver<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let mut state = self.0.lock();
        if let ValueState::Waiting(waker) = &mut *state {
            *waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        match std::mem::replace(&mut *state, ValueState::Gone) {
            ValueState::Ready(value) => Poll::Ready(Some(value)),
            _ => Poll::Ready(None),
        }
    }
}
