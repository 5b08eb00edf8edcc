//! What a worker may spend on pages that nobody waits for.

use std::cell::Cell;

/// One refresh at a time, and a pause between them.
#[derive(Default)]
pub struct Budget {
    /// One is under way.
    pub busy: Cell<bool>,
    /// None before this time, ms since the epoch.
    pub next_ms: Cell<u64>,
}
