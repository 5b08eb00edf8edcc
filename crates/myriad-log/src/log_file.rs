//! Log files that any number of logs share.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// A file opened for appending, shared by every log that names it.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    file: RwLock<File>,
}

impl LogFile {
    /// Takes a descriptor opened with `O_APPEND`; `path` is its name in the configuration.
    pub fn new(path: PathBuf, descriptor: OwnedFd) -> Self {
        Self { path, file: RwLock::new(File::from(descriptor)) }
    }

    /// The path as the configuration names it, made absolute by the prefix.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends bytes with one system call, so that lines of several processes never interleave.
    pub fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let file = self.file.read().unwrap_or_else(PoisonError::into_inner);
        (&*file).write_all(bytes)
    }

    /// Swaps in a newly opened descriptor; a writer in flight finishes on the old one.
    pub fn replace(&self, descriptor: OwnedFd) {
        *self.file.write().unwrap_or_else(PoisonError::into_inner) = File::from(descriptor);
    }
}
