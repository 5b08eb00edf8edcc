//! State of the ESI holes (places of includes) of a page while it is sent.

use std::cell::RefCell;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

/// State of an ESI hole, the place of an include in a page.
#[derive(Clone)]
pub(super) enum HoleState {
    /// The part (response to the include) that fills the hole is being requested.
    Waiting,
    /// The part that fills the hole has arrived.
    Filled(Bytes),
    /// The part is not available: the hole gets its original content, or nothing if the include requires that.
    Failed,
}

/// ESI holes (places of includes) of a page. Separate tasks fill them while the page is sent.
pub(super) struct Holes {
    list: RefCell<Vec<HoleState>>,
    waker: RefCell<Option<Waker>>,
}

impl Holes {
    /// Creates `count` holes in the state [`HoleState::Waiting`].
    pub(super) fn new(count: usize) -> Self {
        Self { list: RefCell::new(vec![HoleState::Waiting; count]), waker: RefCell::default() }
    }

    /// Sets the state of a hole that is still waiting, and wakes the reader of the page.
    pub(super) fn fill(&self, hole: usize, slot: HoleState) {
        if let Some(waiting @ HoleState::Waiting) = self.list.borrow_mut().get_mut(hole) {
            *waiting = slot;
        }
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Returns whether the part of a hole is still being requested.
    pub(super) fn is_waiting(&self, hole: usize) -> bool {
        matches!(self.list.borrow().get(hole), Some(HoleState::Waiting))
    }

    /// Polls for the part of a hole: pending while the part is being requested, then ready with the part, or with
    /// `None` if the part is not available or the hole does not exist.
    pub(super) fn poll(&self, hole: usize, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self.list.borrow().get(hole) {
            Some(HoleState::Waiting) => {
                *self.waker.borrow_mut() = Some(cx.waker().clone());
                Poll::Pending
            }
            Some(HoleState::Filled(bytes)) => Poll::Ready(Some(bytes.clone())),
            Some(HoleState::Failed) | None => Poll::Ready(None),
        }
    }
}
