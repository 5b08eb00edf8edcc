//! Reload in progress: a configuration that was read and does not run yet.

use crate::generation::ServerGeneration;
use myriad_cli::instance::ReloadCounts;

/// Log line of a reload that failed.
pub(super) const NOT_TAKEN: &str = "the new configuration was rejected: the previous one remains in effect";

/// State of reloads.
#[derive(Debug, Default)]
pub(super) struct ReloadState {
    pub(super) pending: Option<PendingConfiguration>,
    /// Set if another reload was requested meanwhile; it starts after the current one.
    pub(super) again: bool,
    /// Number of started and finished reloads, for `myriad wordpress reload`.
    pub(super) counted: ReloadCounts,
}

/// Configuration that waits for a worker to take it over.
#[derive(Debug)]
pub(super) struct PendingConfiguration {
    pub(super) next: ServerGeneration,
    /// Process number of the worker that takes it over: the serving worker, or a new one if the process must change.
    pub(super) pid: u32,
}

impl ReloadState {
    /// Returns whether the configuration waits for this worker.
    pub(super) fn waits_for(&self, pid: u32) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.pid == pid)
    }

    /// Drops the pending configuration and closes the sockets that were opened for it.
    pub(super) fn abandon(&mut self) {
        if let Some(pending) = self.pending.take() {
            pending.next.listeners.discard_fresh();
        }
        self.again = false;
    }
}
