//! Log files that any number of logs share.

use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::repeats::Repeats;

/// Number of the next file.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A file opened for appending, shared by every log that names it.
#[derive(Debug)]
pub struct LogFile {
    number: u32,
    path: PathBuf,
    /// Locked to be read or swapped, never while bytes are written: a slow disk holds up nobody who opens logs anew.
    file: Mutex<Arc<File>>,
    /// Whether a write ended within a line, as on a full disk.
    is_torn: AtomicBool,
    /// Messages of error logs that came again and again.
    pub(crate) repeats: Repeats,
}

/// A write that did not take all: what is left of the bytes was not written.
#[derive(Debug)]
pub struct Cut {
    /// How many bytes were written before the error.
    pub written: usize,
    /// What the system said.
    pub error: io::Error,
}

impl LogFile {
    /// Takes a descriptor opened with `O_APPEND`; `path` is its name in the configuration.
    pub fn new(path: PathBuf, descriptor: OwnedFd) -> Self {
        Self {
            number: NEXT.fetch_add(1, Relaxed),
            path,
            file: Mutex::new(Arc::new(File::from(descriptor))),
            is_torn: AtomicBool::new(false),
            repeats: Repeats::default(),
        }
    }

    /// The path as the configuration names it, made absolute by the prefix.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of the file, counted from 0 in each process: few, so that a list has room for all.
    pub fn number(&self) -> usize {
        self.number as usize
    }

    /// Appends bytes with one system call where the disk takes them all, so that lines of several processes never interleave. After
    /// a line that was cut off the next one begins on a line of its own.
    ///
    /// # Errors
    /// The disk is full, or the like.
    pub fn append(&self, bytes: &[u8]) -> Result<(), Cut> {
        let file = Arc::clone(&self.file.lock());
        if self.is_torn.swap(false, Relaxed) && (&*file).write_all(b"\n").is_err() {
            self.is_torn.store(true, Relaxed);
        }
        let mut written = 0;
        while written < bytes.len() {
            match (&*file).write(&bytes[written..]) {
                Ok(0) => return Err(self.cut(bytes, written, ErrorKind::WriteZero.into())),
                Ok(taken) => written += taken,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.cut(bytes, written, error)),
            }
        }
        Ok(())
    }

    fn cut(&self, bytes: &[u8], written: usize, error: io::Error) -> Cut {
        if written > 0 && bytes[written - 1] != b'\n' {
            self.is_torn.store(true, Relaxed);
        }
        Cut { written, error }
    }

    /// Swaps in a newly opened descriptor; a writer in flight finishes on the old one.
    pub fn replace(&self, descriptor: OwnedFd) {
        let file = Arc::new(File::from(descriptor));
        drop(std::mem::replace(&mut *self.file.lock(), file));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn a_line_that_was_cut_off_does_not_run_into_the_next() {
        let folder = Folder::new("torn");
        let file = folder.log("a.log");
        file.append(b"one\ntw").expect("written");
        let cut = file.cut(b"two\n", 2, ErrorKind::StorageFull.into());
        assert_eq!(cut.written, 2);
        file.append(b"three\n").expect("written");
        file.append(b"four\n").expect("written");
        assert_eq!(folder.read("a.log"), "one\ntw\nthree\nfour\n");
    }

    #[test]
    fn a_full_disk_is_told() {
        let full = std::fs::OpenOptions::new().append(true).open("/dev/full").expect("/dev/full");
        let file = LogFile::new("/dev/full".into(), full.into());
        let cut = file.append(b"one\n").expect_err("no room");
        assert_eq!((cut.written, cut.error.kind()), (0, ErrorKind::StorageFull));
    }
}
