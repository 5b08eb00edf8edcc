//! Copying and removing of directories with their contents. Each step starts at an open directory and follows no
//! symbolic links, except [`open_file`] on request.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use myriad_files::as_path;
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, Stat, Timespec, Timestamps, fchmod, fstat, futimens, mkdirat,
    openat, statat, unlinkat,
};
use rustix::io::Errno;

/// Maximum nesting of directories that are copied or removed: each open directory occupies a descriptor.
const DEEPEST: usize = 128;

/// Extent of a directory copy, by `Depth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyDepth {
    /// The directory without its contents (`Depth: 0`).
    FolderAlone,
    /// The directory with its contents (`Depth: infinity`).
    All,
}

/// Returns the modification time in the metadata `found`.
pub(super) fn modified(found: &Stat) -> Timespec {
    Timespec { tv_sec: found.st_mtime, tv_nsec: found.st_mtime_nsec as _ }
}

/// Opens a regular file for reading; a symbolic link only if `follow` is set. Other kinds of files are rejected.
pub(super) fn open_file(folder: &OwnedFd, name: &[u8], follow: bool) -> io::Result<File> {
    // Without `NONBLOCK`, opening a pipe would wait for a writer.
    let mut flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    flags.set(OFlags::NOFOLLOW, !follow);
    let file = openat(folder, as_path(name), flags, Mode::empty())?;
    if !FileType::from_raw_mode(fstat(&file)?.st_mode).is_file() {
        return Err(Errno::ACCESS.into());
    }
    Ok(File::from(file))
}

/// Removes a directory with its contents. Symbolic links in it are removed, not their targets. Fails if directories are
/// nested more than [`DEEPEST`] levels deep.
pub(super) fn remove(folder: &OwnedFd, name: &[u8]) -> io::Result<()> {
    remove_within(folder, name, DEEPEST)
}

fn remove_within(around: &OwnedFd, name: &[u8], depth: usize) -> io::Result<()> {
    let folder = open_folder(around, name, depth)?;
    for inner in names(&folder)? {
        let found = statat(&folder, as_path(&inner), AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(found.st_mode).is_dir() {
            remove_within(&folder, &inner, depth - 1)?;
        } else {
            unlinkat(&folder, as_path(&inner), AtFlags::empty())?;
        }
    }
    Ok(unlinkat(around, as_path(name), AtFlags::REMOVEDIR)?)
}

/// Copies a directory to a name that does not exist, with permissions and modification times. As in nginx, only
/// directories and regular files in it are copied. Fails if directories are nested more than [`DEEPEST`] levels deep.
pub(super) fn copy(from: (&OwnedFd, &[u8]), to: (&OwnedFd, &[u8]), extent: CopyDepth) -> io::Result<()> {
    let depth = if extent == CopyDepth::All { DEEPEST } else { 0 };
    copy_within(from, to, (depth, extent), None)
}

/// Copies a directory; with its contents, at most `depth` further levels, if `extent` requests them. `whole` is the
/// device and inode of the target of the whole copy (`None` at the first level), which is skipped if it is found inside
/// the source.
fn copy_within(
    from: (&OwnedFd, &[u8]),
    to: (&OwnedFd, &[u8]),
    (depth, extent): (usize, CopyDepth),
    whole: Option<(u64, u64)>,
) -> io::Result<()> {
    let source = open_folder(from.0, from.1, DEEPEST)?;
    let of_source = fstat(&source)?;
    mkdirat(to.0, as_path(to.1), Mode::RWXU)?;
    let target = open_folder(to.0, to.1, DEEPEST)?;
    let of_target = fstat(&target)?;
    let whole = whole.or(Some((of_target.st_dev, of_target.st_ino)));
    let inner = if extent == CopyDepth::All { names(&source)? } else { Vec::new() };
    for name in inner {
        let found = statat(&source, as_path(&name), AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = FileType::from_raw_mode(found.st_mode);
        if kind.is_dir() && Some((found.st_dev, found.st_ino)) != whole {
            let depth = depth.checked_sub(1).ok_or(Errno::NAMETOOLONG)?;
            copy_within((&source, &name), (&target, &name), (depth, extent), whole)?;
        } else if kind.is_file() {
            copy_file(&source, &target, &name)?;
        }
    }
    fchmod(&target, Mode::from_raw_mode(of_source.st_mode & 0o777))?;
    copy_attributes(&target, &of_source)
}

fn copy_file(source: &OwnedFd, target: &OwnedFd, name: &[u8]) -> io::Result<()> {
    let mut from = open_file(source, name, false)?;
    let found = fstat(&from)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut to = File::from(openat(target, as_path(name), flags, Mode::RUSR | Mode::WUSR)?);
    io::copy(&mut from, &mut to)?;
    fchmod(&to, Mode::from_raw_mode(found.st_mode & 0o777))?;
    copy_attributes(&to, &found)
}

fn copy_attributes(target: impl std::os::fd::AsFd, found: &Stat) -> io::Result<()> {
    let modified = modified(found);
    Ok(futimens(target, &Timestamps { last_access: modified, last_modification: modified })?)
}

fn open_folder(around: &OwnedFd, name: &[u8], depth: usize) -> io::Result<OwnedFd> {
    if depth == 0 {
        return Err(Errno::NAMETOOLONG.into());
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(around, as_path(name), flags, Mode::empty())?)
}

/// Returns the names in a directory. They are read before any change, because a change may cause names to be read
/// twice.
fn names(folder: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(name.to_vec());
        }
    }
    Ok(names)
}
