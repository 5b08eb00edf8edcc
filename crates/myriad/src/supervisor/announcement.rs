//! Announcement of this process to others: its pid file, the lock of a `myriad wordpress`, the process of `daemon on` that
//! waits in the foreground.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::generation::Generation;
use crate::instance::{Instance, Reloads};
use crate::pidfile::PidFile;
use crate::wordpress;

/// Means by which others know of this process.
#[derive(Debug)]
pub(super) struct Announcement {
    /// Pid file, written once the first worker accepts.
    pub(super) pid_file: Option<PidFile>,
    /// Lock of the folder of a `myriad wordpress`.
    pub(super) instance: Option<Instance>,
    /// Stream to the half of `daemon on` that waits in the foreground, until it has been told.
    pub(super) foreground: Option<UnixStream>,
}

impl Announcement {
    /// An announcement that has not been made.
    pub(super) fn new(instance: Option<Instance>, foreground: Option<UnixStream>) -> Self {
        Self { pid_file: None, instance, foreground }
    }

    /// Whether the pid file has been written: the first worker accepts.
    pub(super) fn is_made(&self) -> bool {
        self.pid_file.is_some()
    }

    /// Writes the pid file, in place of one that there was.
    pub(super) fn write_pid_file(&mut self, path: &Path) -> io::Result<()> {
        self.pid_file = Some(PidFile::write(path.to_owned())?);
        Ok(())
    }

    /// Whether the directive `pid` names another path than that of the file. One that was renamed for a new binary stays.
    pub(super) fn pid_file_moves_to(&self, path: &Path) -> bool {
        self.pid_file.as_ref().is_some_and(|file| {
            file.path() != path && !file.path().as_os_str().as_encoded_bytes().ends_with(b".oldbin")
        })
    }

    /// Writes the process number, what came of reloads, and the facts of the server into the lock of the folder.
    pub(super) fn tell_instance(&self, generation: &Generation, reloads: &Reloads) -> io::Result<()> {
        self.instance.as_ref().map_or(Ok(()), |instance| instance.tell(reloads, &generation.facts))
    }

    /// Writes the greeting of a `myriad wordpress` to standard error; that nobody reads it is no error.
    pub(super) fn greet(&self, generation: &Generation) {
        if self.instance.is_some() {
            let _ =
                io::stderr().write_all(wordpress::greeting(&generation.facts, &generation.origin).as_bytes());
        }
    }
}
