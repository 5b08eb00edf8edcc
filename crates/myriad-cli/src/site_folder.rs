//! Folder of a site as commands and the supervisor read it: its owner is not trusted, and may put a link to any file, a pipe or a
//! device in the place of a file of the site.
//!
//! Every file below the folder of a site is opened by this module. Links are followed only where link and target have the same owner,
//! which is the rule by which the presets serve files (`disable_symlinks if_not_owner`).

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fmt::{self, Display, Formatter};
use std::fs::Metadata;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use myriad_files::{LinkRule, Walk, read_at};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};

use crate::{accounts, path_walk};

/// Maximum number of bytes of a file that is read as a whole.
pub const FILE_BYTES: u64 = 1 << 20;
/// Maximum number of entries of a folder that are searched for links.
const MAX_ENTRIES: usize = 4096;
/// Maximum number of entries read in a search of files, for each folder that it may read: uploads of a month are thousands of files.
const ENTRIES_PER_FOLDER: usize = 200;
/// Maximum depth of folders that are searched.
const DEEPEST: usize = 64;

/// Folder of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteFolder {
    root: PathBuf,
    trusted: PathBuf,
}

impl SiteFolder {
    /// The site at an absolute path.
    pub fn new(root: &Path) -> Self {
        // A part that does not exist is not trusted.
        let trusted = path_walk::trusted_part(root).unwrap_or_else(|_| PathBuf::from("/"));
        Self { root: root.to_owned(), trusted }
    }

    /// Leading part of the folder's path in which links are followed without a check, because root alone can change it.
    pub fn trusted(&self) -> &Path {
        &self.trusted
    }

    /// Reads a regular file; `path` is relative to the folder.
    ///
    /// # Errors
    /// Those of the system; also a refused link, anything but a regular file, and a file of more than `limit` bytes.
    pub fn read(&self, path: impl AsRef<Path>, limit: u64) -> io::Result<Vec<u8>> {
        let path = self.root.join(path);
        self.walk(&path).read(bytes(&path), limit)
    }

    /// Reads the text of a regular file, as [`Self::read`] does, up to [`FILE_BYTES`]; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub fn text(&self, path: impl AsRef<Path>) -> io::Result<String> {
        self.read(path, FILE_BYTES).map(|text| String::from_utf8_lossy(&text).into_owned())
    }

    /// Metadata of what is at a path, by the same rule for links.
    ///
    /// # Errors
    /// Those of the system, and a refused link.
    pub fn metadata(&self, path: impl AsRef<Path>) -> io::Result<Metadata> {
        let path = self.root.join(path);
        self.walk(&path).metadata(bytes(&path))
    }

    /// Opens a folder, as an `O_PATH` descriptor.
    ///
    /// # Errors
    /// Those of the system, and a refused link.
    pub fn folder(&self, path: impl AsRef<Path>) -> io::Result<OwnedFd> {
        let path = self.root.join(path);
        self.walk(&path).folder(bytes(&path))
    }

    /// Returns the path of the folder without links; links are followed by the same rule.
    ///
    /// # Errors
    /// Returns errors of the system; an error that names the link and its owner for a link that is not followed.
    pub fn resolved(&self) -> io::Result<PathBuf> {
        match self.folder("") {
            // The path of the opened folder: resolving the path again would follow a link that was put there since.
            Ok(opened) => std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())),
            Err(error) => {
                let refused = self.links_above().into_iter().find(|link| link.owner != link.target);
                Err(refused.map_or(error, |link| io::Error::other(link.to_string())))
            }
        }
    }

    /// The same, if there is no link on the way below the trusted part.
    ///
    /// # Errors
    /// Those of the system, and a link.
    pub fn folder_without_links(&self, path: impl AsRef<Path>) -> io::Result<OwnedFd> {
        let path = self.root.join(path);
        Walk::to(bytes(&path), LinkRule::Any, bytes(&self.trusted)).folder(bytes(&path))
    }

    /// Returns the symbolic links in the path of the folder below its trusted part, in the order of the path.
    pub fn links_above(&self) -> Vec<SymbolicLink> {
        let link = |path: &Path| {
            let known = path.symlink_metadata().ok().filter(Metadata::is_symlink)?;
            let target = path.metadata().ok()?.uid();
            Some(SymbolicLink { path: path.to_owned(), owner: known.uid(), target })
        };
        let below = self.root.ancestors().take_while(|path| *path != self.trusted);
        let mut links: Vec<_> = below.filter_map(link).collect();
        links.reverse();
        links
    }

    /// Links of a folder that are not followed, because link and target have different owners.
    pub fn refused_links(&self, path: impl AsRef<Path>) -> Vec<SymbolicLink> {
        let mut refused = Vec::new();
        // A folder that cannot be read is reported elsewhere.
        let _ = self.add_refused_links(path.as_ref(), &mut refused);
        refused.sort_by(|a, b| a.path.cmp(&b.path));
        refused
    }

    fn add_refused_links(&self, path: &Path, refused: &mut Vec<SymbolicLink>) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(self.folder(path)?, ".", flags, Mode::empty())?;
        for entry in Dir::read_from(&folder)?.take(MAX_ENTRIES) {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if !matches!(entry.file_type(), FileType::Symlink | FileType::Unknown) {
                continue;
            }
            let link = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let Ok(target) = statat(&folder, name, AtFlags::empty()) else { continue };
            if FileType::from_raw_mode(link.st_mode).is_symlink() && link.st_uid != target.st_uid {
                let path = self.root.join(path).join(name);
                refused.push(SymbolicLink { path, owner: link.st_uid, target: target.st_uid });
            }
        }
        Ok(())
    }

    /// Files below a folder, at most in `folders` folders and below 64 levels. Links below it are not followed, nor listed.
    ///
    /// # Errors
    /// The folder cannot be opened; one below it that cannot be opened is skipped.
    pub fn files(&self, path: impl AsRef<Path>, folders: usize) -> io::Result<Files> {
        let start = self.folder(path)?;
        let (pending, found) = (VecDeque::from([PathBuf::new()]), VecDeque::new());
        let entries = folders.saturating_mul(ENTRIES_PER_FOLDER);
        Ok(Files { start, pending, found, folders, entries, is_cut: false, excluded: Vec::new(), name: None })
    }

    fn walk(&self, path: &Path) -> Walk {
        Walk::to(bytes(path), LinkRule::ForeignOwner, bytes(&self.trusted))
    }
}

/// Symbolic link with its owner and the owner of its target.
pub struct SymbolicLink {
    /// Path of the link.
    pub path: PathBuf,
    /// User ID of the owner of the link.
    pub owner: u32,
    /// User ID of the owner of its target.
    pub target: u32,
}

impl Display for SymbolicLink {
    /// Describes a link that is not followed.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let name = |uid| accounts::name_of(uid).unwrap_or_else(|| uid.to_string());
        let (path, owner, target) = (self.path.display(), name(self.owner), name(self.target));
        write!(
            formatter,
            "{path} is a symbolic link owned by {owner} to a target owned by {target}, and is not followed"
        )
    }
}

/// Files below a folder; each path is relative to it.
pub struct Files {
    start: OwnedFd,
    /// Folders to read, upper ones first.
    pending: VecDeque<PathBuf>,
    found: VecDeque<PathBuf>,
    /// Number of folders that may still be read.
    folders: usize,
    /// Number of entries of folders that may still be read.
    entries: usize,
    /// Set once a folder or an entry was left out because of these limits.
    is_cut: bool,
    /// Folders that are not read.
    excluded: Vec<PathBuf>,
    /// File name to look for; `None` finds all files.
    name: Option<&'static str>,
}

impl Files {
    /// Skips folders and everything below them.
    #[must_use]
    pub fn except(self, folders: &[impl AsRef<Path>]) -> Self {
        Self { excluded: folders.iter().map(|folder| folder.as_ref().to_owned()).collect(), ..self }
    }

    /// Returns whether the limits were reached, so that files may be missing.
    pub fn is_cut(&self) -> bool {
        self.is_cut || !self.pending.is_empty()
    }

    /// Skips files with other names.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// Reads a file that was found.
    ///
    /// # Errors
    /// Those of [`SiteFolder::read`].
    pub fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let folder = self.open(path.parent().unwrap_or(Path::new("")))?;
        read_at(folder, path.file_name().unwrap_or_default().as_bytes(), limit)
    }

    /// Opens a folder below the start, without following a link.
    fn open(&self, path: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let start = self.start.try_clone()?;
        path.iter().try_fold(start, |at, name| Ok(openat(&at, name, flags, Mode::empty())?))
    }

    /// Reads the next folder.
    fn list(&mut self, path: &Path) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(self.open(path)?, ".", flags, Mode::empty())?;
        for entry in Dir::read_from(&folder)? {
            let Some(left) = self.entries.checked_sub(1) else {
                self.is_cut = true;
                break;
            };
            self.entries = left;
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let kind = match entry.file_type() {
                // File systems that do not store the kind in the folder.
                FileType::Unknown => {
                    let known = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
                    FileType::from_raw_mode(known.st_mode)
                }
                kind => kind,
            };
            if kind.is_file() {
                if self.name.is_none_or(|wanted| name == wanted) {
                    self.found.push_back(path.join(name));
                }
            } else if kind.is_dir() && name != "." && name != ".." && path.iter().count() < DEEPEST {
                let path = path.join(name);
                if self.pending.len() >= self.folders {
                    self.is_cut = true;
                } else if !self.excluded.contains(&path) {
                    self.pending.push_back(path);
                }
            }
        }
        Ok(())
    }
}

impl Iterator for Files {
    type Item = PathBuf;

    fn next(&mut self) -> Option<PathBuf> {
        while self.found.is_empty() {
            self.folders = self.folders.checked_sub(1)?;
            let folder = self.pending.pop_front()?;
            // Removed meanwhile, or not readable.
            let _ = self.list(&folder);
        }
        self.found.pop_front()
    }
}

/// Reads a file that the command line names, wherever it is. A pipe or a device is refused in place of being waited for.
///
/// # Errors
/// Those of the system; also anything but a regular file, and a file of more than `limit` bytes.
pub fn read_named(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    Walk::Free.read(bytes(path), limit)
}

fn bytes(path: &Path) -> &[u8] {
    OsStr::as_bytes(path.as_os_str())
}
