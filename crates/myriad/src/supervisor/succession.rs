//! Succession of supervisors in an upgrade of the binary (USR2): the supervisors before and after this one.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};

use myriad_serve::QuicProcess;
use rustix::process::{Pid, getppid};

use crate::control::ControlChannel;
use crate::daemon;
use crate::listeners::ListenerSet;
use crate::ticket_keys::TicketKeys;
use myriad_cli::instance::InstanceLock;

/// Supervisors that listen on the same sockets during an upgrade.
#[derive(Debug)]
pub(super) struct SupervisorSuccession {
    /// Executable file of the new binary: the path of the executable of this process.
    binary: PathBuf,
    /// Old supervisor whose sockets this process took over.
    predecessor: Option<Pid>,
    /// New supervisor, while it runs.
    successor: Option<Child>,
}

impl SupervisorSuccession {
    /// Creates the succession at the start of a process; `is_successor` if an old supervisor passed its sockets.
    ///
    /// # Errors
    /// Returns an error if the path of the executable of this process is unknown.
    pub(super) fn new(is_heir: bool) -> io::Result<Self> {
        let predecessor = if is_heir { getppid() } else { None };
        Ok(Self { binary: std::env::current_exe()?, predecessor, successor: None })
    }

    /// Returns whether this process took over from another.
    pub(super) fn is_successor(&self) -> bool {
        self.predecessor.is_some()
    }

    /// Returns whether a new binary runs that this process started.
    pub(super) fn has_successor(&self) -> bool {
        self.successor.is_some()
    }

    /// Returns the process number of the new binary.
    pub(super) fn successor_pid(&self) -> Option<u32> {
        self.successor.as_ref().map(Child::id)
    }

    /// Returns whether another supervisor listens on the same sockets.
    pub(super) fn shares_sockets(&self) -> bool {
        self.has_successor() || (self.is_successor() && getppid() == self.predecessor)
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
        legacy: (&ListenerSet, &TicketKeys),
        instance: Option<&InstanceLock>,
        quic_processes: (u32, &[(QuicProcess, BorrowedFd<'_>)]),
    ) -> io::Result<Option<ControlChannel>> {
        let (child, channel) = daemon::upgrade(self.binary.clone(), legacy, instance, quic_processes)?;
        self.successor = Some(child);
        Ok(channel)
    }

    /// Returns the exit status of the new binary once after it has exited.
    pub(super) fn take_exit_status(&mut self) -> Option<ExitStatus> {
        let status = self.successor.as_mut()?.try_wait().ok().flatten()?;
        self.successor = None;
        Some(status)
    }
}
