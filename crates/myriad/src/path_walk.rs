//! Walks along paths with root's rights, name by name. A link is followed if it is root's and lies in folders that only root
//! can change; below any other folder none is, because the owner of that folder could lead root anywhere.

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

/// Flags that open a folder, and refuse a link.
pub(crate) const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Flags that open a folder only to walk through it, which needs no right to read it.
const STEP: OFlags = FOLDER.union(OFlags::PATH);

/// The inode of the topmost folder of procfs (the kernel's `PROC_ROOT_INO`).
const TOP_OF_PROC: u64 = 1;

/// Whom files are shown to belong to whose owner is unknown in a user namespace (`/proc/sys/kernel/overflowuid`, unless changed).
const OVERFLOW: u32 = 65_534;

/// Most links in one path: as many as the kernel follows.
const MAX_LINKS: usize = 40;

/// Whether a file belongs to root or to the user of this process.
pub(crate) fn is_ours(owner: u32) -> bool {
    owner == 0 || owner == rustix::process::geteuid().as_raw()
}

/// Whether only root can replace root's files in this folder.
fn is_kept(folder: &File) -> io::Result<bool> {
    let known = folder.metadata()?;
    let is_sticky = known.mode() & 0o1000 != 0;
    let is_closed = known.mode() & 0o022 == 0 || is_sticky;
    Ok(is_closed && (is_ours(known.uid()) || is_top_of_proc(folder, &known)?))
}

/// Whether this folder is `/proc` itself, in which only the kernel puts something, where root is that of a user namespace
/// (rootless containers): it belongs to nobody that is known there, and so do its links, `self` among them.
fn is_top_of_proc(folder: &File, known: &Metadata) -> Result<bool, Errno> {
    let is_closed = known.mode() & 0o222 == 0;
    Ok(known.ino() == TOP_OF_PROC && known.uid() == OVERFLOW && is_closed && is_proc(folder)?)
}

fn is_proc(folder: &File) -> Result<bool, Errno> {
    Ok(fstatfs(folder)?.f_type == PROC_SUPER_MAGIC)
}

/// Rule for a folder that does not exist on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The folder is made, for all to read.
    Made,
    /// The walk ends before it.
    Ends,
    /// The walk fails.
    Fails,
}

/// A walk under way: the folder that it has reached.
#[derive(Debug)]
pub(crate) struct PathWalk {
    /// Folder that was reached.
    pub(crate) at: File,
    /// Whether only root can change the way that led here.
    pub(crate) is_safe: bool,
}

impl PathWalk {
    /// A walk from the root folder.
    pub(crate) fn from_root() -> io::Result<Self> {
        Self::from(rustix::fs::open("/", STEP, Mode::empty())?.into())
    }

    /// A walk from this folder.
    pub(crate) fn from(at: File) -> io::Result<Self> {
        let is_safe = is_kept(&at)?;
        Ok(Self { at, is_safe })
    }

    /// Walks along a path of folders. Links are followed if they are root's and only root can change the way to them; `None` if
    /// another link would have to be followed.
    pub(crate) fn walk(self, path: &Path, missing: Missing) -> io::Result<Option<Self>> {
        // Names that are left, the next one last.
        let mut names: Vec<OsString> = path.iter().rev().map(OsStr::to_owned).collect();
        let mut links = 0;
        let mut walk = self;
        while let Some(name) = names.pop() {
            let there = match walk.step(&name) {
                Err(Errno::NOENT) if missing == Missing::Made => {
                    make_here(&walk.at, &name)?;
                    walk.step(&name)
                }
                Err(Errno::NOENT) if missing == Missing::Ends => return Ok(Some(walk)),
                there => there,
            };
            match there {
                Ok(folder) => {
                    walk.is_safe &= is_kept(&folder)?;
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

    /// Target of a link; `None` if it must not be followed.
    pub(crate) fn link(&self, name: &OsStr) -> io::Result<Option<PathBuf>> {
        if !self.is_own_link(name)? {
            return Ok(None);
        }
        let target = readlinkat(&self.at, name, Vec::new())?;
        Ok(Some(OsString::from_vec(target.into_bytes()).into()))
    }

    /// Whether a link may be followed: it is root's, and only root could have put it there; or the kernel's.
    fn is_own_link(&self, name: &OsStr) -> io::Result<bool> {
        let known = statat(&self.at, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if !FileType::from_raw_mode(known.st_mode).is_symlink() {
            return Err(Errno::NOTDIR.into());
        }
        Ok(self.is_safe && (is_ours(known.st_uid) || is_top_of_proc(&self.at, &self.at.metadata()?)?))
    }

    /// Opens a file of this folder for appending; creates it if it does not exist.
    ///
    /// If other users may put files into the folder it must be a plain file with one name: a second name could be a hard link
    /// to any file, and a pipe would block the open.
    ///
    /// # Errors
    /// `ELOOP` for a link: none is followed except those that the kernel makes in `/proc`.
    fn open_file(&self, name: &OsStr) -> io::Result<OwnedFd> {
        let open = |more| {
            let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOCTTY;
            openat(&self.at, name, flags | more, Mode::from_raw_mode(myriad_log::MODE))
        };
        let is_closed = self.at.metadata()?.mode() & 0o022 == 0;
        if self.is_safe && is_closed {
            return match open(OFlags::NOFOLLOW) {
                // A link of the kernel such as `/proc/self/fd/1` may lead to what has no path, such as a pipe.
                Err(Errno::LOOP) if is_proc(&self.at)? && self.is_own_link(name)? => {
                    Ok(open(OFlags::empty())?)
                }
                opened => Ok(opened?),
            };
        }
        let file = File::from(open(OFlags::NOFOLLOW | OFlags::NONBLOCK)?);
        let known = file.metadata()?;
        if !known.is_file() || known.nlink() > 1 {
            let why = "it is no plain file of one name, in a folder where others than root may put files";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Ok(file.into())
    }

    /// Metadata of a name in this folder, without following a link; `None` if another user could have put something else there.
    fn trusted_stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        let known = statat(&self.at, name, AtFlags::SYMLINK_NOFOLLOW)?;
        // In a sticky folder that others may write, such as `/tmp`, each user may replace their own entries.
        let is_shared = self.at.metadata()?.mode() & 0o022 != 0;
        Ok((self.is_safe && (!is_shared || is_ours(known.st_uid))).then_some(known))
    }

    /// Opens the folder of that name. `/`, the first name of an absolute path, leads to the root from anywhere.
    fn step(&self, name: &OsStr) -> Result<File, Errno> {
        openat(&self.at, name, STEP, Mode::empty()).map(File::from)
    }
}

/// Opens a file for appending; creates it, unreadable to other users, if it does not exist. Root follows only links of root in folders
/// where no other user could have put them (`/var/log/a.log` to another disk, `/dev/stdout`).
///
/// # Errors
/// It cannot be opened, or another user could have led root there.
pub(crate) fn open_for_appending(path: &Path) -> io::Result<OwnedFd> {
    if !rustix::process::geteuid().is_root() {
        return Ok(File::options().create(true).append(true).mode(myriad_log::MODE).open(path)?.into());
    }
    let refused = || {
        let why = "a link that leads there is not root's, or lies where others than root could have put it: \
                   name the file that it leads to";
        io::Error::new(io::ErrorKind::PermissionDenied, why)
    };
    let mut path = path::absolute(path)?;
    let mut walk = PathWalk::from_root()?;
    for _ in 0..=MAX_LINKS {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        walk = walk.walk(above, Missing::Fails)?.ok_or_else(refused)?;
        match walk.open_file(name) {
            Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                path = walk.link(name)?.ok_or_else(refused)?;
            }
            opened => return opened,
        }
    }
    Err(Errno::LOOP.into())
}

/// Metadata of the file or folder at a path, if root alone decides what that is: no other user can replace it, or lead the path
/// elsewhere. Links of root are followed. `None` if another user can.
///
/// # Errors
/// Those of the system: it does not exist, or a folder above it does not.
pub(crate) fn trusted_stat(path: &Path) -> io::Result<Option<Stat>> {
    let mut path = path::absolute(path)?;
    let mut walk = PathWalk::from_root()?;
    for _ in 0..=MAX_LINKS {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(Some(rustix::fs::fstat(&walk.at)?));
        };
        let Some(reached) = walk.walk(above, Missing::Fails)? else { return Ok(None) };
        let Some(known) = reached.trusted_stat(name)? else { return Ok(None) };
        if !FileType::from_raw_mode(known.st_mode).is_symlink() {
            return Ok(Some(known));
        }
        let Some(target) = reached.link(name)? else { return Ok(None) };
        (walk, path) = (reached, target);
    }
    Err(Errno::LOOP.into())
}

/// Longest leading part of an absolute path that root alone can lead elsewhere. Links below it may be of another user.
///
/// # Errors
/// Those of the system: a part of the path does not exist.
pub(crate) fn trusted_part(path: &Path) -> io::Result<PathBuf> {
    let mut walk = PathWalk::from_root()?;
    let mut trusted = PathBuf::from("/");
    for name in path.iter().skip(1) {
        if walk.trusted_stat(name)?.is_none() {
            break;
        }
        let Some(reached) = walk.walk(Path::new(name), Missing::Fails)? else { break };
        walk = reached;
        trusted.push(name);
    }
    Ok(trusted)
}

/// Makes a folder, unless it exists by now.
fn make_here(above: &File, name: &OsStr) -> Result<(), Errno> {
    match mkdirat(above, name, Mode::from_raw_mode(0o755)) {
        Err(Errno::EXIST) => Ok(()),
        made => made,
    }
}
