//! Means by which other processes find this process: its pid file, the lock of a `myriad wordpress`, and the foreground
//! process of `daemon on`.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::generation::ServerGeneration;
use myriad_cli::instance::{InstanceLock, ReloadCounts};
use myriad_cli::pidfile::PidFile;
use myriad_cli::wordpress;

/// Means by which other processes find this server: pid file, lock file, and the foreground half of `daemon on`.
#[derive(Debug)]
pub(super) struct ServerAnnouncement {
    /// Pid file, written once the first worker accepts connections; `None` before.
    pub(super) pid_file: Option<PidFile>,
    /// Lock of the folder of a `myriad wordpress` or `myriad php`; `None` for other servers.
    pub(super) instance: Option<InstanceLock>,
    /// Stream to the foreground half of `daemon on`, until the result has been reported; `None` otherwise.
    pub(super) foreground: Option<UnixStream>,
}

impl ServerAnnouncement {
    /// Creates an announcement without a pid file yet.
    pub(super) fn new(instance: Option<InstanceLock>, foreground: Option<UnixStream>) -> Self {
        Self { pid_file: None, instance, foreground }
    }

    /// Returns whether the pid file has been written, as happens when the first worker accepts connections.
    pub(super) fn is_written(&self) -> bool {
        self.pid_file.is_some()
    }

    /// Writes the ID of this process to the pid file at `path`. A previous pid file of this process, which must have
    /// another path, is removed.
    pub(super) fn write_pid_file(&mut self, path: &Path) -> io::Result<()> {
        self.pid_file = Some(PidFile::write(path.to_owned())?);
        Ok(())
    }

    /// Returns whether the directive `pid` names a path other than that of the present pid file. Returns false for a
    /// file that was renamed to `.oldbin` for an upgrade, because it remains there.
    pub(super) fn pid_file_moves_to(&self, path: &Path) -> bool {
        self.pid_file.as_ref().is_some_and(|file| {
            file.path() != path && !file.path().as_os_str().as_encoded_bytes().ends_with(b".oldbin")
        })
    }

    /// Writes the process ID, the results of reloads, and the description of the server to the lock file, if there is
    /// one.
    pub(super) fn write_instance_state(
        &self,
        generation: &ServerGeneration,
        reloads: &ReloadCounts,
    ) -> io::Result<()> {
        self.instance.as_ref().map_or(Ok(()), |instance| instance.write_state(reloads, &generation.facts))
    }

    /// Prints the greeting of a `myriad wordpress` to standard error; errors are ignored.
    pub(super) fn print_greeting(&self, generation: &ServerGeneration) {
        if self.instance.is_some() {
            let _ =
                io::stderr().write_all(wordpress::greeting(&generation.facts, &generation.origin).as_bytes());
        }
    }
}
