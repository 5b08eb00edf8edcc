//! Test helper: temporary folder.

use std::fs::OpenOptions;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use crate::log_file::LogFile;

/// Temporary folder of a test, removed when dropped.
pub(crate) struct LogTestFolder(PathBuf);

impl LogTestFolder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("myriad-log-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Opens a file for appending; creates it if necessary.
    pub(crate) fn open(&self, name: &str) -> OwnedFd {
        OpenOptions::new().create(true).append(true).open(self.path(name)).expect("a file").into()
    }

    pub(crate) fn log(&self, name: &str) -> Arc<LogFile> {
        Arc::new(LogFile::new(self.path(name), self.open(name)))
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("a file")
    }

    pub(crate) fn read(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).expect("text")
    }
}

impl Drop for LogTestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
