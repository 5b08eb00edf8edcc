//! Worker budget for refreshing pages in the background.

use std::cell::Cell;

/// Budget that permits one refresh at a time, with a pause between refreshes.
#[derive(Default)]
pub struct RefreshBudget {
    /// True while a refresh is in progress.
    pub busy: Cell<bool>,
    /// Earliest start of the next refresh, in milliseconds since the epoch.
    pub next_ms: Cell<u64>,
}
