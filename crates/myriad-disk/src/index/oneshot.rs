//! Channel for one value that another thread provides.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

enum ValueState<T> {
    Waiting(Option<Waker>),
    Ready(T),
    /// The sender was dropped without a value, or the value was received.
    Gone,
}

/// Sending half. Dropping it without a value completes the receiver with `None`.
pub struct ValueSender<T>(Arc<Mutex<ValueState<T>>>);

/// Receiving half: a future of the value, or of `None` if the sender was dropped without sending one.
pub struct ValueReceiver<T>(Arc<Mutex<ValueState<T>>>);

/// Creates a channel for one value.
pub fn value_channel<T>() -> (ValueSender<T>, ValueReceiver<T>) {
    let state = Arc::new(Mutex::new(ValueState::Waiting(None)));
    (ValueSender(Arc::clone(&state)), ValueReceiver(state))
}

impl<T> ValueSender<T> {
    /// Sends the value and wakes the waiting task.
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
