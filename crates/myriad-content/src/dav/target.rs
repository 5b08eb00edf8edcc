//! Path of a WebDAV resource, opened as a name in its directory.

use std::os::fd::OwnedFd;

use myriad_exchange::exchange::Exchange;
use myriad_exchange::exchange::paths;
use myriad_exchange::runtime::Rooting;
use myriad_files::{PathResolution, as_path, split};
use rustix::fs::{AtFlags, Stat, statat};
use rustix::io::Errno;

use super::failure::{DavFailure, DavResult};
use super::settings::DavAccess;

/// Maximum number of missing directories that are created for one PUT or MOVE.
const MAX_FOLDERS: usize = 32;

/// Path of a resource, and the rules for following symbolic links on it.
#[derive(Clone, Debug)]
pub(super) struct DavTarget {
    /// Path in the file system, without trailing and repeated slashes.
    pub(super) path: Vec<u8>,
    walk: PathResolution,
    /// True if the URI has a trailing slash, that is, names a collection (directory).
    pub(super) is_collection: bool,
    /// Set if the path is the root of the location, which clients must not change.
    pub(super) is_root: bool,
}

/// Name of a file or directory in an open directory; it need not exist.
pub(super) struct NameInFolder<'a> {
    pub(super) folder: OwnedFd,
    pub(super) name: &'a [u8],
}

impl DavTarget {
    /// Returns the target of `uri` by the settings of the request's location. Returns 404 if its last part is not a
    /// valid file name, and 500 if the path cannot be evaluated.
    pub(super) fn of(exchange: &mut Exchange, uri: &[u8]) -> DavResult<Self> {
        let Exchange { request, frame } = exchange;
        let (mut path, mut root) = (Vec::new(), Vec::new());
        let resolved = paths::of_uri(request, uri, frame, &mut path)
            .and_then(|()| paths::root(request, frame, &mut root));
        resolved.map_err(|error| DavFailure::new(500, error.to_string()))?;
        let path = without_extra_slashes(&path);
        let is_root = request.place().files.rooting != Rooting::Whole && path == without_extra_slashes(&root);
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        // No file has such a name: `.` and `..` are directories.
        if path.contains(&0) || matches!(name, b"" | b"." | b"..") {
            return Err(DavFailure::new(
                404,
                format!("\"{}\" is not the name of a file", String::from_utf8_lossy(uri)),
            ));
        }
        let walk = paths::walk(request, frame, &path);
        Ok(Self { walk, is_collection: uri.ends_with(b"/"), is_root, path })
    }

    fn split(&self) -> (&[u8], &[u8]) {
        split(&self.path)
    }

    /// Opens the directory that contains the target; `absent` is the status if it does not exist. Blocks, like all file
    /// operations of this module.
    pub(super) fn open_folder(&self, absent: u16) -> DavResult<NameInFolder<'_>> {
        let (folder, name) = self.split();
        match self.walk.folder(folder) {
            Ok(folder) => Ok(NameInFolder { folder, name }),
            Err(error) => Err(DavFailure::from_io_error(&error, absent, "open()", folder)),
        }
    }

    /// Opens the directory that contains the target, and creates it and its parents if they are missing, at most
    /// [`MAX_FOLDERS`] directories. Returns 409 if more are missing.
    pub(super) fn open_or_create_folder(&self, access: DavAccess) -> DavResult<NameInFolder<'_>> {
        let (folder, name) = self.split();
        match self.walk.create_folders(folder, access.folder_mode(), MAX_FOLDERS) {
            Ok(folder) => Ok(NameInFolder { folder, name }),
            Err(error) => Err(DavFailure::from_io_error(&error, 409, "mkdir()", folder)),
        }
    }

    /// Returns whether symbolic links on the path are followed without restrictions (`disable_symlinks off`).
    pub(super) fn follows_links(&self) -> bool {
        self.walk == PathResolution::Free
    }
}

impl NameInFolder<'_> {
    /// Returns the metadata of the file or directory with this name, of a symbolic link itself; `None` if it does not
    /// exist.
    pub(super) fn status(&self) -> DavResult<Option<Stat>> {
        match statat(&self.folder, as_path(self.name), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(DavFailure::from_io_error(&error.into(), 404, "lstat()", self.name)),
        }
    }
}

/// Returns a path without trailing and repeated slashes.
fn without_extra_slashes(path: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(path.len());
    for byte in path {
        if *byte != b'/' || out.last() != Some(&b'/') {
            out.push(*byte);
        }
    }
    if out.len() > 1 && out.ends_with(b"/") {
        out.pop();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_a_folder_and_a_name() {
        assert_eq!(split(&without_extra_slashes(b"/srv//a///b//")), (&b"/srv/a"[..], &b"b"[..]));
        assert_eq!(without_extra_slashes(b"//"), b"/");
    }
}
