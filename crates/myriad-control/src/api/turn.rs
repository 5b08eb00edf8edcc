//! How many requests look into zones at once.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Requests that all workers together look into zones for at once; more are told to come again.
const MOST_AT_ONCE: usize = 4;

/// One of those who are looking, counted until it is dropped.
pub(super) struct Turn;

static LOOKING: AtomicUsize = AtomicUsize::new(0);

impl Turn {
    pub(super) fn take() -> Option<Self> {
        let turn = Self;
        // The turn that is one too many gives itself back as it is dropped.
        (LOOKING.fetch_add(1, SeqCst) < MOST_AT_ONCE).then_some(turn)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        LOOKING.fetch_sub(1, SeqCst);
    }
}
