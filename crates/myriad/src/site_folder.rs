//! Folder of a site as commands and the supervisor read it: its owner is not trusted, and may put a link to any file, a pipe or a
//! device in the place of a file of the site.
//!
//! Every file below the folder of a site is opened by this module. Links are followed only where link and target have the same owner,
//! which is the rule by which the presets serve files (`disable_symlinks if_not_owner`).

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use myriad_files::{LinkRule, Walk};

use crate::path_walk;

/// Maximum number of bytes of a file that is read as a whole.
pub(crate) const FILE_BYTES: u64 = 1 << 20;

/// Folder of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SiteFolder {
    root: PathBuf,
    trusted: PathBuf,
}

impl SiteFolder {
    /// The site at an absolute path.
    pub(crate) fn new(root: &Path) -> Self {
        // A part that does not exist is not trusted.
        let trusted = path_walk::trusted_part(root).unwrap_or_else(|_| PathBuf::from("/"));
        Self { root: root.to_owned(), trusted }
    }

    /// Path of the folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Leading part of the folder's path in which links are followed without a check, because root alone can change it.
    pub(crate) fn trusted(&self) -> &Path {
        &self.trusted
    }

    /// Reads a regular file; `path` is relative to the folder.
    ///
    /// # Errors
    /// Those of the system; also a refused link, anything but a regular file, and a file of more than `limit` bytes.
    pub(crate) fn read(&self, path: impl AsRef<Path>, limit: u64) -> io::Result<Vec<u8>> {
        let path = self.root.join(path);
        self.walk(&path).read(bytes(&path), limit)
    }

    /// Reads the text of a regular file, as [`Self::read`] does, up to [`FILE_BYTES`]; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub(crate) fn text(&self, path: impl AsRef<Path>) -> io::Result<String> {
        self.read(path, FILE_BYTES).map(|text| String::from_utf8_lossy(&text).into_owned())
    }

    /// Metadata of what is at a path, by the same rule for links.
    ///
    /// # Errors
    /// Those of the system, and a refused link.
    pub(crate) fn metadata(&self, path: impl AsRef<Path>) -> io::Result<Metadata> {
        let path = self.root.join(path);
        self.walk(&path).metadata(bytes(&path))
    }

    /// Whether there is a folder at a path, by the same rule for links.
    pub(crate) fn has_folder(&self, path: impl AsRef<Path>) -> bool {
        self.metadata(path).is_ok_and(|known| known.is_dir())
    }

    /// Opens a folder, as an `O_PATH` descriptor.
    ///
    /// # Errors
    /// Those of the system, and a refused link.
    pub(crate) fn folder(&self, path: impl AsRef<Path>) -> io::Result<OwnedFd> {
        let path = self.root.join(path);
        self.walk(&path).folder(bytes(&path))
    }

    fn walk(&self, path: &Path) -> Walk {
        Walk::to(bytes(path), LinkRule::ForeignOwner, bytes(&self.trusted))
    }
}

/// Reads a file that the command line names, wherever it is. A pipe or a device is refused in place of being waited for.
///
/// # Errors
/// Those of the system; also anything but a regular file, and a file of more than `limit` bytes.
pub(crate) fn read_named(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    Walk::Free.read(bytes(path), limit)
}

fn bytes(path: &Path) -> &[u8] {
    OsStr::as_bytes(path.as_os_str())
}
