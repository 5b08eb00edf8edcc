//! Paths of a zone's files, and the version that their headers must have.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::index::{FileName, Seed};

use crate::faults::Faults;
use crate::folder_watch::FolderWatch;

/// Folder of a zone: its paths, seed and version, and its watch for removed files.
pub(crate) struct FolderLayout {
    pub(crate) root: PathBuf,
    pub(crate) levels: Vec<u8>,
    /// Seed with which cache keys are hashed in this folder.
    pub(crate) seed: Seed,
    /// Version in the headers of valid files: the caller's version of its metadata, and the tag of the seed in the
    /// upper half.
    pub(crate) version: u32,
    pub(crate) watch: FolderWatch,
    pub(crate) faults: Faults,
    /// Lower limit of valid generations: pages whose fetch began before this number are not served, even if their files
    /// exist, because the zone was cleared.
    pub(crate) barrier: AtomicU64,
    /// Number for the name of the next temporary file. It starts at the first sequence number of this start, so that
    /// two processes on one folder use different names.
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

    /// Returns the path of the file with this name, which contains a page or a marker.
    pub(crate) fn path(&self, name: FileName) -> PathBuf {
        name.path(&self.root, &self.levels)
    }

    /// Returns the folder of temporary files, which are renamed once they are complete.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.root.join(".tmp")
    }

    /// Returns a unique number for the name of a temporary or quarantined file.
    pub(crate) fn next_number(&self) -> u64 {
        self.next_temporary.fetch_add(1, Relaxed)
    }

    /// Makes the numbers of temporary files start at `first`, the first sequence number of this start.
    pub(crate) fn number_from(&self, first: u64) {
        self.next_temporary.fetch_max(first, Relaxed);
    }

    /// Watches the folder of a file, and the parent folders, for removals by other programs.
    pub(crate) fn watch(&self, name: FileName) {
        self.watch.watch_parents(&self.root, &self.path(name));
    }
}

/// Creates a folder and its parents, accessible only to this user. Succeeds if the folder exists.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}
