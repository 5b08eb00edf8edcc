//! A configuration between its reading and its taking over.

use crate::generation::Generation;

/// The reload that is under way, if one is.
#[derive(Debug, Default)]
pub(super) struct Reload {
    pub(super) pending: Option<Pending>,
    /// Another reload was asked for meanwhile: it begins when this one has ended.
    pub(super) again: bool,
}

/// A configuration that waits for a worker to take it over.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) next: Generation,
    /// The worker that decides: the one that serves, or a new one where the process itself must change.
    pub(super) pid: u32,
}

impl Reload {
    /// Whether this worker decides about the configuration that waits.
    pub(super) fn waits_for(&self, pid: u32) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.pid == pid)
    }

    /// Gives up the configuration that waits and closes the sockets that were made for it.
    pub(super) fn abandon(&mut self) {
        if let Some(pending) = self.pending.take() {
            pending.next.listeners.discard_fresh();
        }
        self.again = false;
    }
}
