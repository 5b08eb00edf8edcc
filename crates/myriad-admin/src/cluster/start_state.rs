//! Signal that a node's start is complete, for the thread that waits for the start.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// State of a node's start.
#[derive(Default)]
pub(super) struct StartState {
    is_ready: Mutex<bool>,
    changed: Condvar,
}

impl StartState {
    /// Records that all purges that were missed are executed, or that the pages that may have missed a purge are stale.
    pub(super) fn set_ready(&self) {
        *self.is_ready.lock() = true;
        self.changed.notify_all();
    }

    /// Waits for [`Self::set_ready`], for at most `timeout`. Returns false if the time has passed.
    pub(super) fn wait(&self, timeout: Duration) -> bool {
        let mut is_ready = self.is_ready.lock();
        self.changed.wait_while_for(&mut is_ready, |is_ready| !*is_ready, timeout);
        *is_ready
    }
}
