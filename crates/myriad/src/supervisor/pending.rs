//! Reload under way: a configuration that was read and does not run yet.

use crate::generation::Generation;
use crate::instance::Reloads;

/// Log line of a reload that failed.
pub(super) const NOT_TAKEN: &str = "the new configuration was not taken: the earlier one keeps running";

/// State of reloads.
#[derive(Debug, Default)]
pub(super) struct Reload {
    pub(super) pending: Option<Pending>,
    /// Whether another reload was asked for meanwhile; it begins when this one has ended.
    pub(super) again: bool,
    /// Those that have begun and ended, for `myriad wordpress reload`.
    pub(super) counted: Reloads,
}

/// A configuration that waits for a worker to take it over.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) next: Generation,
    /// Process number of the worker that takes it over: the one that serves, or a new one if the process itself must change.
    pub(super) pid: u32,
}

impl Reload {
    /// Whether the configuration waits for this worker.
    pub(super) fn waits_for(&self, pid: u32) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.pid == pid)
    }

    /// Drops the configuration that waits and closes the sockets that were made for it.
    pub(super) fn abandon(&mut self) {
        if let Some(pending) = self.pending.take() {
            pending.next.listeners.discard_fresh();
        }
        self.again = false;
    }
}
