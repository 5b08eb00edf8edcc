//! Succession of supervisors in an upgrade of the binary (USR2): the supervisors before and after this one.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};

use myriad_serve::QuicProcess;
use rustix::process::{Pid, getppid};

use crate::control::Channel;
use crate::daemon;
use crate::listeners::Listeners;
use crate::ticket_keys::TicketKeys;
use myriad_cli::instance::Instance;

/// Supervisors that listen on the same sockets during an upgrade.
#[derive(Debug)]
pub(super) struct Succession {
    /// Executable file of the new binary: the path of the executable of this process.
    binary: PathBuf,
    /// Old supervisor whose sockets this process took over.
    predecessor: Option<Pid>,
    /// New supervisor, while it runs.
    heir: Option<Child>,
}

impl Succession {
    /// Creates the succession at the start of a process; `is_heir` if an old supervisor passed its sockets.
    ///
    /// # Errors
    /// Returns an error if the path of the executable of this process is unknown.
    pub(super) fn new(is_heir: bool) -> io::Result<Self> {
        let predecessor = if is_heir { getppid() } else { None };
        Ok(Self { binary: std::env::current_exe()?, predecessor, heir: None })
    }

    /// Returns whether this process took over from another.
    pub(super) fn is_heir(&self) -> bool {
        self.predecessor.is_some()
    }

    /// Returns whether a new binary runs that this process started.
    pub(super) fn has_heir(&self) -> bool {
        self.heir.is_some()
    }

    /// Returns the process number of the new binary.
    pub(super) fn heir(&self) -> Option<u32> {
        self.heir.as_ref().map(Child::id)
    }

    /// Returns whether another supervisor listens on the same sockets.
    pub(super) fn shares_sockets(&self) -> bool {
        self.has_heir() || (self.is_heir() && getppid() == self.predecessor)
    }

    /// Starts the new binary and sends it the sockets, the keys of session tickets, the lock of the folder, the worker
    /// processes that serve QUIC and the number of earlier supervisors.
    ///
    /// Returns the channel to it if the new binary has not closed it.
    ///
    /// # Errors
    /// Returns an error if the binary cannot be started or the data cannot be sent to it.
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

    /// Returns the exit status of the new binary once after it has exited.
    pub(super) fn take_ended(&mut self) -> Option<ExitStatus> {
        let status = self.heir.as_mut()?.try_wait().ok().flatten()?;
        self.heir = None;
        Some(status)
    }
}
