//! Traversal of paths, one component at a time, for files that root opens.
//!
//! A symbolic link is followed only if root owns it and only root can change the folders above it. In other folders no
//! link is followed, because the owner of such a folder could redirect root to any file. If another user runs the
//! process, the same applies to root and that user.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{self, Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat, fstatfs, mkdirat, openat, readlinkat, statat,
};
use rustix::io::Errno;

/// Flags that open a folder and reject a link.
pub const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Flags that open a folder only to traverse it, which requires no right to read it.
const STEP: OFlags = FOLDER.union(OFlags::PATH);

/// Inode of the root folder of procfs (`PROC_ROOT_INO` of the kernel).
const TOP_OF_PROC: u64 = 1;

/// User ID that the kernel reports for files whose owner has no ID in the user namespace
/// (`/proc/sys/kernel/overflowuid`, unless it was changed).
const OVERFLOW: u32 = 65_534;

/// Maximum number of links in one path, as in the kernel.
const MAX_LINKS: usize = 40;

/// Returns whether a user ID is that of root or of this process.
pub fn is_ours(owner: u32) -> bool {
    owner == 0 || owner == rustix::process::geteuid().as_raw()
}

/// Returns whether only root and the user of this process can replace those entries of this folder that belong to one
/// of these two users. Entries of other users in a sticky folder, such as `/tmp`, are not protected.
fn is_protected(folder: &File) -> io::Result<bool> {
    let known = folder.metadata()?;
    let is_sticky = known.mode() & 0o1000 != 0;
    let is_closed = known.mode() & 0o022 == 0 || is_sticky;
    Ok(is_closed && (is_ours(known.uid()) || is_top_of_proc(folder, &known)?))
}

/// Returns whether this folder is the top of `/proc` as seen in a user namespace (rootless containers), where the
/// folder and its links, such as `self`, have an owner without an ID. Only the kernel creates entries there.
fn is_top_of_proc(folder: &File, known: &Metadata) -> Result<bool, Errno> {
    let is_closed = known.mode() & 0o222 == 0;
    Ok(known.ino() == TOP_OF_PROC && known.uid() == OVERFLOW && is_closed && is_proc(folder)?)
}

fn is_proc(folder: &File) -> Result<bool, Errno> {
    Ok(fstatfs(folder)?.f_type == PROC_SUPER_MAGIC)
}

/// Treatment of a folder on the path that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingFolder {
    /// The folder is created with mode 0755 (less the umask).
    Made,
    /// The traversal stops without an error at the last existing folder.
    Ends,
    /// The traversal returns the error `ENOENT`.
    Fails,
}

/// State of the traversal of a path.
#[derive(Debug)]
pub struct PathWalk {
    /// Folder that the traversal has reached.
    pub at: File,
    /// True if only root, or the user of this process, can change the path to this folder and the entries that belong
    /// to these two users in it.
    pub is_safe: bool,
}

impl PathWalk {
    /// Starts a traversal at the root folder.
    pub fn from_root() -> io::Result<Self> {
        Self::from(rustix::fs::open("/", STEP, Mode::empty())?.into())
    }

    /// Starts a traversal at this folder. The path to it is not checked.
    pub fn from(at: File) -> io::Result<Self> {
        let is_safe = is_protected(&at)?;
        Ok(Self { at, is_safe })
    }

    /// Traverses a path of folders. A link is followed if root or the user of this process owns it and only these two
    /// users can change the path to it, or if the kernel created it in `/proc`. Returns `None` at any other link. A
    /// missing folder is handled as `missing` specifies.
    pub fn walk(self, path: &Path, missing: MissingFolder) -> io::Result<Option<Self>> {
        // Remaining components, in reverse order.
        let mut names: Vec<OsString> = path.iter().rev().map(OsStr::to_owned).collect();
        let mut links = 0;
        let mut walk = self;
        while let Some(name) = names.pop() {
            let there = match walk.step(&name) {
                Err(Errno::NOENT) if missing == MissingFolder::Made => {
                    make_here(&walk.at, &name)?;
                    walk.step(&name)
                }
                Err(Errno::NOENT) if missing == MissingFolder::Ends => return Ok(Some(walk)),
                there => there,
            };
            match there {
                Ok(folder) => {
                    walk.is_safe &= is_protected(&folder)?;
                    walk.at = folder;
                }
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    let Some(target) = walk.link(&name)? else { return Ok(None) };
                    if links == MAX_LINKS {
                        return Err(Errno::LOOP.into());
                    }
                    links += 1;
                    names.extend(target.iter().rev().map(OsStr::to_owned));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(walk))
    }

    /// Returns the target of a link in this folder; `None` if another user could have created the link, so that it must
    /// not be followed. Returns `ENOTDIR` if the entry is not a link.
    pub fn link(&self, name: &OsStr) -> io::Result<Option<PathBuf>> {
        if !self.is_own_link(name)? {
            return Ok(None);
        }
        let target = readlinkat(&self.at, name, Vec::new())?;
        Ok(Some(OsString::from_vec(target.into_bytes()).into()))
    }

    /// Returns whether a link in this folder may be followed: the path to the folder is safe, and root or the user of
    /// this process owns the link, or the kernel created it in `/proc`. Returns `ENOTDIR` if the entry is not a link.
    fn is_own_link(&self, name: &OsStr) -> io::Result<bool> {
        let known = statat(&self.at, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if !FileType::from_raw_mode(known.st_mode).is_symlink() {
            return Err(Errno::NOTDIR.into());
        }
        Ok(self.is_safe && (is_ours(known.st_uid) || is_top_of_proc(&self.at, &self.at.metadata()?)?))
    }

    /// Opens a file of this folder for appending; creates it if it does not exist.
    ///
    /// If other users can put files into the folder, the file must be a regular file with a single name: a second name
    /// could be a hard link to any file, and opening a pipe would block.
    ///
    /// # Errors
    /// Returns `ELOOP` for a link, except for links that the kernel creates in `/proc`.
    fn open_file(&self, name: &OsStr) -> io::Result<OwnedFd> {
        let open = |more| {
            let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOCTTY;
            openat(&self.at, name, flags | more, Mode::from_raw_mode(myriad_log::MODE))
        };
        let is_closed = self.at.metadata()?.mode() & 0o022 == 0;
        if self.is_safe && is_closed {
            return match open(OFlags::NOFOLLOW) {
                // A link of the kernel such as `/proc/self/fd/1` may refer to an object without a path, such as a pipe.
                Err(Errno::LOOP) if is_proc(&self.at)? && self.is_own_link(name)? => {
                    Ok(open(OFlags::empty())?)
                }
                opened => Ok(opened?),
            };
        }
        let file = File::from(open(OFlags::NOFOLLOW | OFlags::NONBLOCK)?);
        let known = file.metadata()?;
        if !known.is_file() || known.nlink() > 1 {
            let why = "it is not a regular file with a single name, and is in a folder where users other than root can create files";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Ok(file.into())
    }

    /// Returns the metadata of an entry of this folder, without following a link; `None` if another user could have
    /// created the entry.
    fn trusted_stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        let known = statat(&self.at, name, AtFlags::SYMLINK_NOFOLLOW)?;
        // In a sticky folder that others may write to, such as `/tmp`, users can replace their own entries.
        let is_shared = self.at.metadata()?.mode() & 0o022 != 0;
        Ok((self.is_safe && (!is_shared || is_ours(known.st_uid))).then_some(known))
    }

    /// Opens a subfolder. If the name is `/`, the first component of an absolute path, opens the root folder.
    fn step(&self, name: &OsStr) -> Result<File, Errno> {
        openat(&self.at, name, STEP, Mode::empty()).map(File::from)
    }
}

/// Opens a file for appending; creates it with mode 0640 if it does not exist.
///
/// Root follows only links of root in folders where no other user could have created them (such as `/var/log/a.log` on
/// another disk, or `/dev/stdout`).
///
/// # Errors
/// Returns an error if the file cannot be opened, or, if root runs the process, if another user could have redirected
/// the path.
pub fn open_for_appending(path: &Path) -> io::Result<OwnedFd> {
    if !rustix::process::geteuid().is_root() {
        return Ok(File::options().create(true).append(true).mode(myriad_log::MODE).open(path)?.into());
    }
    let refused = || {
        let why = "the path contains a symbolic link that does not belong to root, or that users other than root can replace: give \
             the path of the target";
        io::Error::new(io::ErrorKind::PermissionDenied, why)
    };
    let mut path = path::absolute(path)?;
    let mut walk = PathWalk::from_root()?;
    for _ in 0..=MAX_LINKS {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        walk = walk.walk(above, MissingFolder::Fails)?.ok_or_else(refused)?;
        match walk.open_file(name) {
            Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                path = walk.link(name)?.ok_or_else(refused)?;
            }
            opened => return opened,
        }
    }
    Err(Errno::LOOP.into())
}

/// Returns the metadata of the file or folder at a path if only root and the user of this process can replace it or
/// redirect the path, and `None` otherwise. Links that belong to one of these two users are followed.
///
/// # Errors
/// Returns the errors of the system, for example if the path or a folder above it does not exist.
pub fn trusted_stat(path: &Path) -> io::Result<Option<Stat>> {
    let mut path = path::absolute(path)?;
    let mut walk = PathWalk::from_root()?;
    for _ in 0..=MAX_LINKS {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(Some(rustix::fs::fstat(&walk.at)?));
        };
        let Some(reached) = walk.walk(above, MissingFolder::Fails)? else { return Ok(None) };
        let Some(known) = reached.trusted_stat(name)? else { return Ok(None) };
        if !FileType::from_raw_mode(known.st_mode).is_symlink() {
            return Ok(Some(known));
        }
        let Some(target) = reached.link(name)? else { return Ok(None) };
        (walk, path) = (reached, target);
    }
    Err(Errno::LOOP.into())
}

/// Returns the longest leading part of an absolute path that only root and the user of this process can change. The
/// rest of the path may contain links of other users.
///
/// # Errors
/// Returns an error of the system, for example if a part of the path does not exist.
pub fn trusted_part(path: &Path) -> io::Result<PathBuf> {
    let mut walk = PathWalk::from_root()?;
    let mut trusted = PathBuf::from("/");
    for name in path.iter().skip(1) {
        if walk.trusted_stat(name)?.is_none() {
            break;
        }
        let Some(reached) = walk.walk(Path::new(name), MissingFolder::Fails)? else { break };
        walk = reached;
        trusted.push(name);
    }
    Ok(trusted)
}

/// Creates a folder unless it exists.
fn make_here(above: &File, name: &OsStr) -> Result<(), Errno> {
    match mkdirat(above, name, Mode::from_raw_mode(0o755)) {
        Err(Errno::EXIST) => Ok(()),
        made => made,
    }
}
