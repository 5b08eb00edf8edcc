//! Safe access to the folder of a site. Its owner is not trusted, and may replace any file by a link to another file, a
//! pipe or a device.
//!
//! Commands and the supervisor open files below the folder of a site by this module. Links outside of the trusted part
//! of its path are followed only if link and target have the same owner, which is also the rule by which the presets
//! serve files (`disable_symlinks if_not_owner`).

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

/// Maximum size, in bytes, of a file that [`SiteFolder::text`] reads. A larger file is an error.
pub const FILE_BYTES: u64 = 1 << 20;
/// Maximum number of entries of a folder that are examined for links.
const MAX_ENTRIES: usize = 4096;
/// Number of folder entries that a search may read in total, divided by the maximum number of folders that it may read.
/// The uploads of a month are thousands of files.
const ENTRIES_PER_FOLDER: usize = 200;
/// Maximum depth of folders in a search.
const DEEPEST: usize = 64;
/// Maximum number of [`LinkCycle`]s that a search records.
const MAX_CYCLES: usize = 16;

/// Folder of a site, whose owner is not trusted. In its path outside of the trusted part, and below it, a link is
/// followed only if the link and its target have the same owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteFolder {
    root: PathBuf,
    trusted: PathBuf,
}

impl SiteFolder {
    /// Describes the site in the folder `root`, an absolute path. Creates nothing on disk.
    pub fn new(root: &Path) -> Self {
        // A part of the path that does not exist is not trusted.
        let trusted = path_walk::trusted_part(root).unwrap_or_else(|_| PathBuf::from("/"));
        Self { root: root.to_owned(), trusted }
    }

    /// Returns the leading part of the folder's path that only root and the user of this process can change, in which
    /// links are followed without a check.
    pub fn trusted(&self) -> &Path {
        &self.trusted
    }

    /// Reads a regular file; `path` is relative to the folder.
    ///
    /// # Errors
    /// Returns an error of the system, or if the path contains a link that is not followed, the file is not regular, or
    /// it has more than `limit` bytes.
    pub fn read(&self, path: impl AsRef<Path>, limit: u64) -> io::Result<Vec<u8>> {
        let path = self.root.join(path);
        self.walk(&path).read(bytes(&path), limit)
    }

    /// Reads a regular file of at most [`FILE_BYTES`] as text; invalid UTF-8 is replaced.
    ///
    /// # Errors
    /// Returns the errors of [`Self::read`].
    pub fn text(&self, path: impl AsRef<Path>) -> io::Result<String> {
        self.read(path, FILE_BYTES).map(|text| String::from_utf8_lossy(&text).into_owned())
    }

    /// Returns the metadata of a file or folder; `path` is relative to the folder of the site.
    ///
    /// # Errors
    /// Returns an error of the system, or if the path contains a link that is not followed.
    pub fn metadata(&self, path: impl AsRef<Path>) -> io::Result<Metadata> {
        let path = self.root.join(path);
        self.walk(&path).metadata(bytes(&path))
    }

    /// Opens a folder, as an `O_PATH` descriptor; `path` is relative to the folder of the site.
    ///
    /// # Errors
    /// Returns an error of the system, or if the path contains a link that is not followed.
    pub fn folder(&self, path: impl AsRef<Path>) -> io::Result<OwnedFd> {
        let path = self.root.join(path);
        self.walk(&path).folder(bytes(&path))
    }

    /// Returns the path of the folder with all links resolved.
    ///
    /// # Errors
    /// Returns an error of the system. For a link in the path of the folder that is not followed, the error
    /// names it and its owner.
    pub fn resolved(&self) -> io::Result<PathBuf> {
        match self.folder("") {
            // Path of the folder that was opened: resolving the path again could follow a link that was created
            // meanwhile.
            Ok(opened) => std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())),
            Err(error) => {
                let refused = self.links_above().into_iter().find(|link| link.owner != link.target);
                Err(refused.map_or(error, |link| io::Error::other(link.to_string())))
            }
        }
    }

    /// Opens a folder, as an `O_PATH` descriptor, if its path contains no link outside of the trusted part; `path` is
    /// relative to the folder of the site.
    ///
    /// # Errors
    /// Returns an error of the system, or if there is such a link.
    pub fn folder_without_links(&self, path: impl AsRef<Path>) -> io::Result<OwnedFd> {
        let path = self.root.join(path);
        PathResolution::to(bytes(&path), LinkRule::Any, bytes(&self.trusted)).folder(bytes(&path))
    }

    /// Returns the links in the path of the folder outside of its trusted part, in the order of the path, except links
    /// whose target cannot be accessed.
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

    /// Returns the links among the first 4096 entries of a folder that are not followed because link and target have
    /// different owners; empty if the folder cannot be read.
    pub fn refused_links(&self, path: impl AsRef<Path>) -> Vec<SymbolicLink> {
        let mut refused = Vec::new();
        // Errors of reading the folder are reported elsewhere.
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

    /// Searches the files below a folder, in at most `folders` folders with [`ENTRIES_PER_FOLDER`] entries each on
    /// average, and up to a depth of 64. Links are neither followed nor listed, unless [`FileWalk::following_links`] is
    /// called.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be opened. Subfolders that cannot be opened are skipped.
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
    /// Absolute path of the link.
    pub path: PathBuf,
    /// User ID of the owner of the link.
    pub owner: u32,
    /// User ID of the owner of its target.
    pub target: u32,
}

impl Display for SymbolicLink {
    /// Writes the error text for a link that is not followed.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let name = |uid| accounts::name_of(uid).unwrap_or_else(|| uid.to_string());
        let (path, owner, target) = (self.path.display(), name(self.owner), name(self.target));
        write!(
            formatter,
            "{path} is a symbolic link owned by {owner} to a target owned by {target}, and is not followed"
        )
    }
}

/// Device and inode of a folder, which identify it.
type FolderId = (u64, u64);

/// Folder that a search has yet to read.
struct Pending {
    /// Path relative to the start of the search.
    path: PathBuf,
    /// Folders on the path to this folder, including the start of the search, to detect cycles.
    around: Arc<Vec<FolderId>>,
    /// True if the path contains a link.
    is_linked: bool,
}

/// Path by which links lead from a folder to itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkCycle {
    /// Path of the folder, relative to the start of the search.
    pub folder: PathBuf,
    /// Path from the folder to itself, relative to it.
    pub way: PathBuf,
}

/// Search for files below a folder. As an iterator, it returns their paths relative to the start.
pub struct FileWalk {
    start: OwnedFd,
    site: SiteFolder,
    /// Path of the start, relative to the folder of the site.
    start_path: PathBuf,
    /// Folders to be read, outer ones first.
    pending: VecDeque<Pending>,
    /// Folders to be read that were reached through links. They are read last, so that links do not exhaust the limits
    /// for folders without links.
    linked: VecDeque<Pending>,
    found: VecDeque<PathBuf>,
    /// Number of folders that may still be read.
    folders: usize,
    /// Number of folder entries that may still be read.
    entries: usize,
    /// True if a folder or an entry was skipped because of these limits or the maximum depth, or a cycle was not
    /// recorded. Pending folders are not included; [`Self::is_cut`] includes them.
    is_cut: bool,
    follows_links: bool,
    cycles: Vec<LinkCycle>,
    /// Folders that are skipped, relative to the start.
    excluded: Vec<PathBuf>,
    /// Only files with this name are returned; `None` for all files.
    name: Option<&'static str>,
}

impl FileWalk {
    /// Skips these folders and everything below them. Their paths are relative to the start.
    #[must_use]
    pub fn except(self, folders: &[impl AsRef<Path>]) -> Self {
        Self { excluded: folders.iter().map(|folder| folder.as_ref().to_owned()).collect(), ..self }
    }

    /// Also follows links to files and folders, if link and target have the same owner. A folder is found by each path
    /// that does not pass through any folder twice; paths that do are recorded in [`Self::cycles`].
    #[must_use]
    pub fn following_links(self) -> Self {
        Self { follows_links: true, ..self }
    }

    /// Returns the cycles of links found so far. Their folders are relative to the start.
    pub fn cycles(&self) -> &[LinkCycle] {
        &self.cycles
    }

    /// Returns whether a limit was reached, so that files may be missing. Meaningful only after the iteration: folders
    /// that are still to be read count as missing.
    pub fn is_cut(&self) -> bool {
        self.is_cut || !self.pending.is_empty() || !self.linked.is_empty()
    }

    /// Restricts the search to files with this name.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// Reads a file that the search has returned.
    ///
    /// # Errors
    /// Returns the errors of [`SiteFolder::read`].
    pub fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        if self.follows_links {
            return self.site.read(self.start_path.join(path), limit);
        }
        let folder = self.open_without_links(path.parent().unwrap_or(Path::new("")))?;
        read_at(folder, path.file_name().unwrap_or_default().as_bytes(), limit)
    }

    /// Opens a folder below the start, without following any link.
    fn open_without_links(&self, path: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let start = self.start.try_clone()?;
        path.iter().try_fold(start, |at, name| Ok(openat(&at, name, flags, Mode::empty())?))
    }

    /// Reads the entries of the folder `next`: adds files with the wanted name to `found`, and subfolders to the
    /// folders to be read. If `next` also occurs among the folders on its path, only the cycle is recorded.
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
                // Some file systems do not store the type in the folder.
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

    /// Adds a folder to the folders to be read, unless it is excluded, or the maximum number of folders or the maximum
    /// depth is reached.
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

    /// Returns the file type of a link's target; `Unknown` if the link is not followed.
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
            // Errors are ignored: the folder was removed meanwhile, or is not readable.
            let _ = self.list(&folder);
        }
        self.found.pop_front()
    }
}

/// Reads a regular file that the command line names, anywhere on the machine. Does not block on a pipe or device.
///
/// # Errors
/// Returns an error of the system, or if the file is not regular or has more than `limit` bytes.
pub fn read_named(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    PathResolution::Free.read(bytes(path), limit)
}

fn bytes(path: &Path) -> &[u8] {
    OsStr::as_bytes(path.as_os_str())
}
