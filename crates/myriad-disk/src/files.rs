//! The paths of a zone's files, the version that they bear, and the names of temporary ones.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use myriad_index::{Name, Seed};

use crate::faults::Faults;
use crate::watch::Watch;

/// The files of a folder.
pub(crate) struct Files {
    pub(crate) root: PathBuf,
    pub(crate) levels: Vec<u8>,
    /// The seed that keys are hashed with.
    pub(crate) seed: Seed,
    /// The version that files of this process bear: the caller's version of its metadata, and the tag of the seed.
    pub(crate) version: u32,
    pub(crate) watch: Watch,
    pub(crate) faults: Faults,
    /// Objects of fetches that began before this number are void, whatever their files say.
    pub(crate) barrier: AtomicU64,
    /// The name of the next temporary file: numbers of this start, so that no two that use one folder share any.
    next_temporary: AtomicU64,
}

impl Files {
    pub(crate) fn new(root: PathBuf, levels: Vec<u8>, seed: Seed, version: u16) -> Self {
        Self {
            root,
            levels,
            seed,
            version: u32::from(version) | u32::from(seed.tag()) << 16,
            watch: Watch::new(),
            faults: Faults::default(),
            barrier: AtomicU64::new(0),
            next_temporary: AtomicU64::new(0),
        }
    }

    /// The path of a file.
    pub(crate) fn path(&self, name: Name) -> PathBuf {
        name.path(&self.root, &self.levels)
    }

    /// The folder of temporary files.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.root.join(".tmp")
    }

    /// A number that no other file of this start has got.
    pub(crate) fn next_number(&self) -> u64 {
        self.next_temporary.fetch_add(1, Relaxed)
    }

    /// Numbers temporary files from the first number of a start on.
    pub(crate) fn number_from(&self, first: u64) {
        self.next_temporary.fetch_max(first, Relaxed);
    }

    /// Watches the folder of a file, and those above it.
    pub(crate) fn watch(&self, name: Name) {
        self.watch.look_at(&self.root, &self.path(name));
    }
}

/// Makes a folder and those above it, for this user alone.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}
