//! Paths of a zone's files, their version, and the names of temporary files.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::index::{FileName, Seed};

use crate::faults::Faults;
use crate::folder_watch::FolderWatch;

/// Files of a folder.
pub(crate) struct FolderLayout {
    pub(crate) root: PathBuf,
    pub(crate) levels: Vec<u8>,
    /// Seed of the keys' hashes.
    pub(crate) seed: Seed,
    /// Version of the files that this process writes: the caller's version of its metadata, and the tag of the seed.
    pub(crate) version: u32,
    pub(crate) watch: FolderWatch,
    pub(crate) faults: Faults,
    /// Objects of fetches that began before this number are void, even if their files exist.
    pub(crate) barrier: AtomicU64,
    /// Number of the next temporary file. Numbers are specific to this start, so that two processes on a folder share
    /// no name.
    next_temporary: AtomicU64,
}

impl FolderLayout {
    pub(crate) fn new(root: PathBuf, levels: Vec<u8>, seed: Seed, version: u16) -> Self {
        Self {
            root,
            levels,
            seed,
            version: u32::from(version) | u32::from(seed.tag()) << 16,
            watch: FolderWatch::new(),
            faults: Faults::default(),
            barrier: AtomicU64::new(0),
            next_temporary: AtomicU64::new(0),
        }
    }

    /// Returns the path of a file.
    pub(crate) fn path(&self, name: FileName) -> PathBuf {
        name.path(&self.root, &self.levels)
    }

    /// Returns the folder of temporary files.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.root.join(".tmp")
    }

    /// Returns a number that no other file of this start has.
    pub(crate) fn next_number(&self) -> u64 {
        self.next_temporary.fetch_add(1, Relaxed)
    }

    /// Numbers temporary files from the first number of a start on.
    pub(crate) fn number_from(&self, first: u64) {
        self.next_temporary.fetch_max(first, Relaxed);
    }

    /// Watches the folder of a file, and its parents.
    pub(crate) fn watch(&self, name: FileName) {
        self.watch.watch_parents(&self.root, &self.path(name));
    }
}

/// Creates a folder and its parents, with permissions only for this user.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}
