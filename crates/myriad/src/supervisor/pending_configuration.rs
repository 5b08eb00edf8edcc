//! Reload in progress: a configuration that was read and does not run yet.

use crate::generation::ServerGeneration;
use myriad_cli::instance::ReloadCounts;

/// Text for the log and the init system after a failed reload: the previous configuration remains in use.
pub(super) const NOT_TAKEN: &str = "the new configuration was rejected: the previous one remains in effect";

/// State of reloads: the configuration in progress, a further request, and the counts.
#[derive(Debug, Default)]
pub(super) struct ReloadState {
    pub(super) pending: Option<PendingConfiguration>,
    /// True if another reload was requested during the current reload; it starts after the current one has finished.
    pub(super) again: bool,
    /// Numbers of started and finished reloads, which `myriad wordpress reload` reads from the lock file.
    pub(super) counted: ReloadCounts,
}

/// Configuration that was sent to a worker, which has not accepted it yet.
#[derive(Debug)]
pub(super) struct PendingConfiguration {
    pub(super) next: ServerGeneration,
    /// Process ID of the worker that received the configuration: the serving worker, or a new worker if the process
    /// must be replaced or no worker is serving.
    pub(super) pid: u32,
}

impl ReloadState {
    /// Returns whether the pending configuration was sent to this worker.
    pub(super) fn waits_for(&self, pid: u32) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.pid == pid)
    }

    /// Drops the pending configuration and closes the sockets that were opened for it. A reload that was requested
    /// meanwhile is dropped as well.
    pub(super) fn abandon(&mut self) {
        if let Some(pending) = self.pending.take() {
            pending.next.listeners.discard_fresh();
        }
        self.again = false;
    }
}
