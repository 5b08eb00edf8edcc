//! Log file, which several logs can share.

use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::repeats::RepeatedMessages;

/// Number of the next [`LogFile`] that is created.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// File opened for appending, shared by all logs with its path.
#[derive(Debug)]
pub struct LogFile {
    /// Number of the file, counted from 0 in each process and never reused.
    number: u32,
    path: PathBuf,
    /// Locked only to get or replace the descriptor, not during writes, so that a slow disk does not block reopening.
    file: Mutex<Arc<File>>,
    /// Set if the last write failed within a line, for example because the disk was full, so that the file has an
    /// incomplete last line.
    ends_within_line: AtomicBool,
    /// Recent messages of error logs, for the suppression of repetitions.
    pub(crate) repeats: RepeatedMessages,
}

/// Error of a write, with the number of bytes that were written before it.
#[derive(Debug)]
pub struct PartialWrite {
    /// Number of bytes written before the error.
    pub written: usize,
    /// Error of the failed write.
    pub error: io::Error,
}

impl LogFile {
    /// Creates a log file. `descriptor` must have been opened with `O_APPEND`; `path` is its absolute path.
    pub fn new(path: PathBuf, descriptor: OwnedFd) -> Self {
        Self {
            number: NEXT.fetch_add(1, Relaxed),
            path,
            file: Mutex::new(Arc::new(File::from(descriptor))),
            ends_within_line: AtomicBool::new(false),
            repeats: RepeatedMessages::default(),
        }
    }

    /// Returns the absolute path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of the file, counted from 0 in each process, so that it can be used as an index.
    pub fn number(&self) -> usize {
        self.number as usize
    }

    /// Appends bytes. Uses one system call if the system accepts all bytes, so that lines of several processes do not
    /// mix. If the last line was truncated, starts a new line first.
    ///
    /// # Errors
    /// The write failed, for example because the disk is full.
    pub fn append(&self, bytes: &[u8]) -> Result<(), PartialWrite> {
        let file = Arc::clone(&self.file.lock());
        if self.ends_within_line.swap(false, Relaxed) && (&*file).write_all(b"\n").is_err() {
            self.ends_within_line.store(true, Relaxed);
        }
        let mut written = 0;
        while written < bytes.len() {
            match (&*file).write(&bytes[written..]) {
                Ok(0) => return Err(self.partial_write(bytes, written, ErrorKind::WriteZero.into())),
                Ok(taken) => written += taken,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.partial_write(bytes, written, error)),
            }
        }
        Ok(())
    }

    fn partial_write(&self, bytes: &[u8], written: usize, error: io::Error) -> PartialWrite {
        if written > 0 && bytes[written - 1] != b'\n' {
            self.ends_within_line.store(true, Relaxed);
        }
        PartialWrite { written, error }
    }

    /// Replaces the descriptor of the file with a newly opened one. A write in progress continues with the old
    /// descriptor.
    pub fn replace(&self, descriptor: OwnedFd) {
        let file = Arc::new(File::from(descriptor));
        drop(std::mem::replace(&mut *self.file.lock(), file));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::LogTestFolder;

    #[test]
    fn a_line_that_was_cut_off_does_not_run_into_the_next() {
        let folder = LogTestFolder::new("torn");
        let file = folder.log("a.log");
        file.append(b"one\ntw").expect("written");
        let cut = file.partial_write(b"two\n", 2, ErrorKind::StorageFull.into());
        assert_eq!(cut.written, 2);
        file.append(b"three\n").expect("written");
        file.append(b"four\n").expect("written");
        assert_eq!(folder.read("a.log"), "one\ntw\nthree\nfour\n");
    }

    #[test]
    fn full_disk_is_reported() {
        let full = std::fs::OpenOptions::new().append(true).open("/dev/full").expect("/dev/full");
        let file = LogFile::new("/dev/full".into(), full.into());
        let cut = file.append(b"one\n").expect_err("the disk is full");
        assert_eq!((cut.written, cut.error.kind()), (0, ErrorKind::StorageFull));
    }
}
