//! Channel for one value that another thread provides.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

/// Function that is called once with the sent value; with `None` if the sender was dropped without a value.
type ValueObserver<T> = Box<dyn FnOnce(Option<&T>) + Send>;

enum ValueState<T> {
    Waiting(Option<Waker>, Option<ValueObserver<T>>),
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
    let state = Arc::new(Mutex::new(ValueState::Waiting(None, None)));
    (ValueSender(Arc::clone(&state)), ValueReceiver(state))
}

impl<T> ValueSender<T> {
    /// Sends the value and wakes the waiting task.
    pub fn send(self, value: T) {
        self.end(ValueState::Ready(value));
    }

    fn end(&self, end: ValueState<T>) {
        let waker = {
            let mut state = self.0.lock();
            let ValueState::Waiting(waker, observer) = &mut *state else { return };
            let (waker, observer) = (waker.take(), observer.take());
            if let Some(observer) = observer {
                observer(end.value());
            }
            *state = end;
            waker
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> ValueState<T> {
    fn value(&self) -> Option<&T> {
        if let Self::Ready(value) = self { Some(value) } else { None }
    }
}

impl<T> ValueReceiver<T> {
    /// Calls `observer` when the value is sent, or at once if it was sent before. The call happens also if the receiver
    /// is dropped before, on the thread of the sender. `observer` must not block, nor poll the receiver.
    pub fn observe(&self, observer: impl FnOnce(Option<&T>) + Send + 'static) {
        let mut state = self.0.lock();
        match &mut *state {
            ValueState::Waiting(_, slot) => *slot = Some(Box::new(observer)),
            state => observer(state.value()),
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
        if let ValueState::Waiting(waker, _) = &mut *state {
            *waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        match std::mem::replace(&mut *state, ValueState::Gone) {
            ValueState::Ready(value) => Poll::Ready(Some(value)),
            _ => Poll::Ready(None),
        }
    }
}
