//! Upgrade of the binary (USR2): the supervisor that this one took over from, and the one that takes over from it.

use std::io;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};

use rustix::process::{Pid, getppid};

use crate::daemon;
use crate::instance::Instance;
use crate::listeners::Listeners;
use crate::ticket_keys::TicketKeys;

/// Who else listens on the same sockets while a binary is exchanged.
#[derive(Debug)]
pub(super) struct Succession {
    /// The file that is started as the new binary.
    binary: PathBuf,
    /// The old supervisor whose sockets this one took over.
    predecessor: Option<Pid>,
    /// The new supervisor, while it runs.
    heir: Option<Child>,
}

impl Succession {
    /// Notes which file runs now, and whether an old supervisor handed over its sockets.
    ///
    /// # Errors
    /// The system does not tell this process's file.
    pub(super) fn new(is_heir: bool) -> io::Result<Self> {
        let predecessor = if is_heir { getppid() } else { None };
        Ok(Self { binary: std::env::current_exe()?, predecessor, heir: None })
    }

    /// Whether this process took over from another.
    pub(super) fn is_heir(&self) -> bool {
        self.predecessor.is_some()
    }

    /// Whether a new binary runs that this process started.
    pub(super) fn has_heir(&self) -> bool {
        self.heir.is_some()
    }

    /// Whether another supervisor listens on the same sockets.
    pub(super) fn shares_sockets(&self) -> bool {
        self.has_heir() || (self.is_heir() && getppid() == self.predecessor)
    }

    /// Starts the new binary and hands it what outlives this one.
    ///
    /// # Errors
    /// It cannot be started, or does not take what it is handed.
    pub(super) fn begin(
        &mut self,
        listeners: &Listeners,
        keys: &TicketKeys,
        instance: Option<&Instance>,
    ) -> io::Result<()> {
        self.heir = Some(daemon::upgrade(self.binary.clone(), listeners, keys, instance)?);
        Ok(())
    }

    /// How the new binary ended, once, if it has.
    pub(super) fn take_ended(&mut self) -> Option<ExitStatus> {
        let status = self.heir.as_mut()?.try_wait().ok().flatten()?;
        self.heir = None;
        Some(status)
    }
}
