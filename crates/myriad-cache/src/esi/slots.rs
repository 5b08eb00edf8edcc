//! What the holes of a page are filled with, as far as it is known.

use std::cell::RefCell;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

/// What is known of a hole.
#[derive(Clone)]
pub(super) enum Slot {
    /// It is asked for.
    Waiting,
    /// The part.
    Got(Bytes),
    /// It cannot be had.
    Failed,
}

/// The holes of a page, filled by tasks of their own while the page is sent.
pub(super) struct Slots {
    list: RefCell<Vec<Slot>>,
    waker: RefCell<Option<Waker>>,
}

impl Slots {
    /// So many holes, all of them waited for.
    pub(super) fn new(count: usize) -> Self {
        Self { list: RefCell::new(vec![Slot::Waiting; count]), waker: RefCell::default() }
    }

    /// Fills a hole that is waited for.
    pub(super) fn fill(&self, hole: usize, slot: Slot) {
        if let Some(waiting @ Slot::Waiting) = self.list.borrow_mut().get_mut(hole) {
            *waiting = slot;
        }
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Whether a hole is waited for.
    pub(super) fn is_waiting(&self, hole: usize) -> bool {
        matches!(self.list.borrow().get(hole), Some(Slot::Waiting))
    }

    /// The part of a hole; none where it cannot be had.
    pub(super) fn poll(&self, hole: usize, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self.list.borrow().get(hole) {
            Some(Slot::Waiting) => {
                *self.waker.borrow_mut() = Some(cx.waker().clone());
                Poll::Pending
            }
            Some(Slot::Got(bytes)) => Poll::Ready(Some(bytes.clone())),
            Some(Slot::Failed) | None => Poll::Ready(None),
        }
    }
}
