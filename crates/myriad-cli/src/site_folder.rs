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
use std::sync::Arc;

use myriad_files::{LinkRule, PathResolution, read_at};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, statat};

use crate::{accounts, path_walk};

/// Maximum number of bytes of a file that is read as a whole.
pub const FILE_BYTES: u64 = 1 << 20;
/// Maximum number of entries of a folder that are searched for links.
const MAX_ENTRIES: usize = 4096;
/// Maximum number of entries read in a search of files, for each folder that it may read: uploads of a month are thousands of files.
const ENTRIES_PER_FOLDER: usize = 200;
/// Maximum depth of folders that are searched.
const DEEPEST: usize = 64;
/// Maximum number of [`LinkCycle`]s of a search.
const MAX_CYCLES: usize = 16;

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
        PathResolution::to(bytes(&path), LinkRule::Any, bytes(&self.trusted)).folder(bytes(&path))
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

    /// Files below a folder, at most in `folders` folders and below 64 levels. Links below it are neither followed nor listed, unless
    /// [`FileWalk::following_links`] is used.
    ///
    /// # Errors
    /// The folder cannot be opened; one below it that cannot be opened is skipped.
    pub fn files(&self, path: impl AsRef<Path>, folders: usize) -> io::Result<FileWalk> {
        let path = path.as_ref();
        let first = Pending { path: PathBuf::new(), around: Arc::default(), is_linked: false };
        Ok(FileWalk {
            start: self.folder(path)?,
            site: self.clone(),
            start_path: path.to_owned(),
            pending: VecDeque::from([first]),
            linked: VecDeque::new(),
            found: VecDeque::new(),
            folders,
            entries: folders.saturating_mul(ENTRIES_PER_FOLDER),
            is_cut: false,
            follows_links: false,
            cycles: Vec::new(),
            excluded: Vec::new(),
            name: None,
        })
    }

    fn walk(&self, path: &Path) -> PathResolution {
        PathResolution::to(bytes(path), LinkRule::ForeignOwner, bytes(&self.trusted))
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

/// Device and inode of a folder.
type FolderId = (u64, u64);

/// Folder to read.
struct Pending {
    /// Relative to the start.
    path: PathBuf,
    /// Folders on the path to it, the start first.
    around: Arc<Vec<FolderId>>,
    /// True if the path contains a link.
    is_linked: bool,
}

/// Path by which links lead from a folder to the same folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkCycle {
    /// Path of the folder.
    pub folder: PathBuf,
    /// Path from the folder to itself.
    pub way: PathBuf,
}

/// Files below a folder; each path is relative to it.
pub struct FileWalk {
    start: OwnedFd,
    site: SiteFolder,
    /// Path of the start below the folder of the site.
    start_path: PathBuf,
    /// Folders to read, upper ones first.
    pending: VecDeque<Pending>,
    /// Folders reached through links. They are read last, so that links do not use up the limits.
    linked: VecDeque<Pending>,
    found: VecDeque<PathBuf>,
    /// Number of folders that may still be read.
    folders: usize,
    /// Number of entries of folders that may still be read.
    entries: usize,
    /// Set once a folder or an entry was left out because of these limits.
    is_cut: bool,
    follows_links: bool,
    cycles: Vec<LinkCycle>,
    /// Folders that are not read.
    excluded: Vec<PathBuf>,
    /// File name to look for; `None` finds all files.
    name: Option<&'static str>,
}

impl FileWalk {
    /// Skips folders and everything below them.
    #[must_use]
    pub fn except(self, folders: &[impl AsRef<Path>]) -> Self {
        Self { excluded: folders.iter().map(|folder| folder.as_ref().to_owned()).collect(), ..self }
    }

    /// Follows links whose target has the same owner, to folders and to files. A folder is found by each path that leads to it and
    /// does not pass through a folder twice; [`Self::cycles`] are the other paths.
    #[must_use]
    pub fn following_links(self) -> Self {
        Self { follows_links: true, ..self }
    }

    /// Paths that pass through a folder twice, found so far; relative to the start.
    pub fn cycles(&self) -> &[LinkCycle] {
        &self.cycles
    }

    /// Returns whether the limits were reached, so that files may be missing.
    pub fn is_cut(&self) -> bool {
        self.is_cut || !self.pending.is_empty() || !self.linked.is_empty()
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
        if self.follows_links {
            return self.site.read(self.start_path.join(path), limit);
        }
        let folder = self.open_without_links(path.parent().unwrap_or(Path::new("")))?;
        read_at(folder, path.file_name().unwrap_or_default().as_bytes(), limit)
    }

    /// Opens a folder below the start, without following a link.
    fn open_without_links(&self, path: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let start = self.start.try_clone()?;
        path.iter().try_fold(start, |at, name| Ok(openat(&at, name, flags, Mode::empty())?))
    }

    /// Reads the next folder.
    fn list(&mut self, next: &Pending) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = if next.is_linked {
            self.site.folder(self.start_path.join(&next.path))?
        } else {
            self.open_without_links(&next.path)?
        };
        let folder = openat(folder, ".", flags, Mode::empty())?;
        let known = fstat(&folder)?;
        let id = (known.st_dev, known.st_ino);
        if let Some(depth) = next.around.iter().position(|around| *around == id) {
            self.add_cycle(&next.path, depth);
            return Ok(());
        }
        let around = Arc::new([&next.around[..], &[id]].concat());
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
            let path = next.path.join(name);
            let (kind, is_link) = match kind {
                FileType::Symlink if self.follows_links => (self.target(&path), true),
                kind => (kind, false),
            };
            if kind.is_file() {
                if self.name.is_none_or(|wanted| name == wanted) {
                    self.found.push_back(path);
                }
            } else if kind.is_dir() && name != "." && name != ".." {
                let is_linked = next.is_linked || is_link;
                self.add(Pending { path, around: Arc::clone(&around), is_linked });
            }
        }
        Ok(())
    }

    /// Adds a folder to those to read.
    fn add(&mut self, folder: Pending) {
        let waiting = self.pending.len() + if folder.is_linked { self.linked.len() } else { 0 };
        if self.excluded.contains(&folder.path) {
            return;
        }
        if waiting >= self.folders || folder.path.iter().count() > DEEPEST {
            self.is_cut = true;
        } else if folder.is_linked {
            self.linked.push_back(folder);
        } else {
            self.pending.push_back(folder);
        }
    }

    fn add_cycle(&mut self, path: &Path, depth: usize) {
        if self.cycles.len() >= MAX_CYCLES {
            self.is_cut = true;
            return;
        }
        let (folder, way) = (path.iter().take(depth).collect(), path.iter().skip(depth).collect());
        self.cycles.push(LinkCycle { folder, way });
    }

    /// Returns the kind of the target of a link; `Unknown` if the link is not followed.
    fn target(&self, path: &Path) -> FileType {
        let known = self.site.metadata(self.start_path.join(path));
        known.map_or(FileType::Unknown, |known| FileType::from_raw_mode(known.mode()))
    }
}

impl Iterator for FileWalk {
    type Item = PathBuf;

    fn next(&mut self) -> Option<PathBuf> {
        while self.found.is_empty() {
            self.folders = self.folders.checked_sub(1)?;
            let folder = self.pending.pop_front().or_else(|| self.linked.pop_front())?;
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
    PathResolution::Free.read(bytes(path), limit)
}

fn bytes(path: &Path) -> &[u8] {
    OsStr::as_bytes(path.as_os_str())
}
