//! Budget of a worker for refreshing pages in the background before they expire.

use std::cell::Cell;

/// Limits the refreshes of pages before they expire to one at a time, with a minimum interval between their starts.
#[derive(Default)]
pub struct RefreshBudget {
    /// True while a refresh of a page before its expiry is in progress.
    pub busy: Cell<bool>,
    /// Earliest time of the next refresh, in milliseconds of the process clock.
    pub next_ms: Cell<u64>,
}
