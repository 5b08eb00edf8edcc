//! Succession of supervisors in an upgrade of the binary (USR2): the one before this process and the one after it.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};

use myriad_serve::QuicProcess;
use rustix::process::{Pid, getppid};

use crate::control::Channel;
use crate::daemon;
use crate::instance::Instance;
use crate::listeners::Listeners;
use crate::ticket_keys::TicketKeys;

/// Supervisors that listen on the same sockets during an upgrade.
#[derive(Debug)]
pub(super) struct Succession {
    /// File that is started as the new binary: the path of this process's own.
    binary: PathBuf,
    /// Old supervisor whose sockets this one took over.
    predecessor: Option<Pid>,
    /// New supervisor, while it runs.
    heir: Option<Child>,
}

impl Succession {
    /// Succession at the start of a process; `is_heir` if an old supervisor handed over its sockets.
    ///
    /// # Errors
    /// The path of this process's file is not known.
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

    /// Process number of the new binary.
    pub(super) fn heir(&self) -> Option<u32> {
        self.heir.as_ref().map(Child::id)
    }

    /// Whether another supervisor listens on the same sockets.
    pub(super) fn shares_sockets(&self) -> bool {
        self.has_heir() || (self.is_heir() && getppid() == self.predecessor)
    }

    /// Starts the new binary and hands it the sockets, the keys of tickets, the lock of the folder, and the worker processes that serve QUIC
    /// with how many supervisors there were before; returns the channel to it, if it keeps that.
    ///
    /// # Errors
    /// The binary cannot be started, or does not take what it is handed.
    pub(super) fn begin(
        &mut self,
        legacy: (&Listeners, &TicketKeys),
        instance: Option<&Instance>,
        kin: (u32, &[(QuicProcess, BorrowedFd<'_>)]),
    ) -> io::Result<Option<Channel>> {
        let (child, channel) = daemon::upgrade(self.binary.clone(), legacy, instance, kin)?;
        self.heir = Some(child);
        Ok(channel)
    }

    /// Exit status of the new binary, given once after it has ended.
    pub(super) fn take_ended(&mut self) -> Option<ExitStatus> {
        let status = self.heir.as_mut()?.try_wait().ok().flatten()?;
        self.heir = None;
        Some(status)
    }
}
