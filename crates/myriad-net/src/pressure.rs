//! Whether connections run short.

use std::cell::Cell;

thread_local! {
    static PRESSED: Cell<bool> = const { Cell::new(false) };
}

/// Whether the worker of this thread has more than three quarters of its connections.
pub(crate) fn is_on() -> bool {
    PRESSED.get()
}

/// Says whether it has; who counts them does.
pub(crate) fn set(is_on: bool) {
    PRESSED.set(is_on);
}
