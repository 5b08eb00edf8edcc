//! Whether connections or memory run short.

use std::cell::Cell;

use crate::memory_figures;

thread_local! {
    static PRESSED: Cell<bool> = const { Cell::new(false) };
}

/// Whether the worker of this thread has more than three quarters of its connections, or the process is short of memory.
pub(crate) fn is_on() -> bool {
    PRESSED.get() || memory_figures::is_short()
}

/// Says whether it has; who counts them does.
pub(crate) fn set(is_on: bool) {
    PRESSED.set(is_on);
}
