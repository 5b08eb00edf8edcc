//! Shortage of connections or memory.

use std::cell::Cell;

use crate::memory_counters;

thread_local! {
    static PRESSED: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether more than three quarters of this worker's connections are in use, or the process is short of memory.
pub(crate) fn is_on() -> bool {
    PRESSED.get() || memory_counters::is_short()
}

/// Sets whether more than three quarters of the connections are in use; called by [`crate::ConnectionLimiter`].
pub(crate) fn set(is_on: bool) {
    PRESSED.set(is_on);
}
