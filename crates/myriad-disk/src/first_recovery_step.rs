//! Waiting for the first step of the recovery, which searches a zone's folder for files after a start. After this step,
//! all files of a small folder are known, so that the counts of purges are exact.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Signal that the first step of the search for files at startup is complete. Purges wait for it, to count pages
/// exactly.
#[derive(Debug, Default)]
pub(crate) struct FirstRecoveryStep {
    is_over: Mutex<bool>,
    finished: Condvar,
    /// Deadline of all waits, set by the first one, so that the waits of consecutive purges do not add up.
    until: OnceLock<Instant>,
}

impl FirstRecoveryStep {
    /// Signals the completion of the first step of the search at startup.
    pub(crate) fn end(&self) {
        let was_over = std::mem::replace(&mut *self.is_over.lock(), true);
        if !was_over {
            self.finished.notify_all();
        }
    }

    /// Waits until the first step of the search at startup is complete, or until `longest` after the first call of this
    /// function. Must not be called on threads that serve clients.
    pub(crate) fn wait(&self, longest: Duration) {
        let until = self.until(longest);
        let mut is_over = self.is_over.lock();
        while !*is_over {
            if self.finished.wait_until(&mut is_over, until).timed_out() {
                return;
            }
        }
    }

    fn until(&self, longest: Duration) -> Instant {
        *self.until.get_or_init(|| Instant::now() + longest)
    }

    /// Returns true if [`Self::wait`] has been called.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn was_waited_for(&self) -> bool {
        self.until.get().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_waiters_share_one_deadline() {
        let stretch = FirstRecoveryStep::default();
        assert!(!stretch.was_waited_for());
        stretch.wait(Duration::from_millis(1));
        assert!(stretch.was_waited_for());
        let until = stretch.until(Duration::from_hours(1));
        assert!(until <= Instant::now(), "the deadline has passed");
        stretch.wait(Duration::from_hours(1));
    }
}
