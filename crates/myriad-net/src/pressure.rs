//! Detection of a shortage of connection slots or memory, for `client_min_rate`.

use std::cell::Cell;

use crate::memory_counters;

thread_local! {
    static PRESSED: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if more than three quarters of this worker's connection slots are in use or memory is short.
pub(crate) fn is_on() -> bool {
    PRESSED.get() || memory_counters::is_short()
}

/// Records whether more than three quarters of this worker's connection slots are in use. Called by
/// [`crate::ConnectionLimiter`].
pub(crate) fn set(is_on: bool) {
    PRESSED.set(is_on);
}
