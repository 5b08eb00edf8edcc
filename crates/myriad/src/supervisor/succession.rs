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

/// Supervisors before and after this one in an upgrade, which share its listening sockets.
#[derive(Debug)]
pub(super) struct SupervisorSuccession {
    /// Executable of the new binary: the path from which this process was started.
    binary: PathBuf,
    /// Old supervisor that passed its sockets to this process; `None` without an upgrade.
    predecessor: Option<Pid>,
    /// New supervisor that this process has started for an upgrade; `None` before, and after its exit was handled.
    successor: Option<Child>,
}

impl SupervisorSuccession {
    /// Creates the state at the start of a process. `is_heir` is true if an old supervisor passed its sockets.
    ///
    /// # Errors
    /// Returns an error if the path of this process's executable is unknown.
    pub(super) fn new(is_heir: bool) -> io::Result<Self> {
        let predecessor = if is_heir { getppid() } else { None };
        Ok(Self { binary: std::env::current_exe()?, predecessor, successor: None })
    }

    /// Returns whether this process received its sockets from an old supervisor.
    pub(super) fn is_successor(&self) -> bool {
        self.predecessor.is_some()
    }

    /// Returns whether a new binary that this process started runs.
    pub(super) fn has_successor(&self) -> bool {
        self.successor.is_some()
    }

    /// Returns the process ID of the new binary; `None` if none runs.
    pub(super) fn successor_pid(&self) -> Option<u32> {
        self.successor.as_ref().map(Child::id)
    }

    /// Returns whether another supervisor that shares the listening sockets runs.
    pub(super) fn shares_sockets(&self) -> bool {
        self.has_successor() || (self.is_successor() && getppid() == self.predecessor)
    }

    /// Starts the new binary, and sends it the sockets, the TLS ticket keys, the lock of the folder, the worker
    /// processes that serve QUIC, and its depth.
    ///
    /// Returns the channel to it, unless the new binary has closed it.
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

    /// Returns the exit status of the new binary, once, after it has exited; otherwise `None`.
    pub(super) fn take_exit_status(&mut self) -> Option<ExitStatus> {
        let status = self.successor.as_mut()?.try_wait().ok().flatten()?;
        self.successor = None;
        Some(status)
    }
}
