//! Rules for symbolic links (`disable_symlinks`). Paths are opened component by component, so that each link is
//! checked.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, mkdirat, openat, statat};
use rustix::io::Errno;

use crate::path::as_path;

/// Rule for the symbolic links that are rejected when a path is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkRule {
    /// All links are rejected (`disable_symlinks on`).
    Any,
    /// A link is rejected if its owner differs from the owner of its target (`disable_symlinks if_not_owner`).
    ForeignOwner,
}

/// Way in which a path is resolved to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathResolution {
    /// The kernel resolves the path and follows all links.
    Free,
    /// Component by component by the rule, after a trusted prefix of this length in bytes (`from=`), which must be a
    /// folder. If the path is not longer, all of it is trusted, and must be a folder.
    Checked(LinkRule, usize),
}

impl PathResolution {
    /// Returns the resolution of `path`, whose prefix `from` is trusted. As in nginx, `from` must end at a component
    /// boundary; otherwise the whole path is checked. A path equal to `from` is resolved without checks.
    pub fn to(path: &[u8], rule: LinkRule, from: &[u8]) -> Self {
        let trusted = match path.strip_prefix(from) {
            Some([]) if !from.is_empty() => return Self::Free,
            Some([b'/', ..]) => from.len(),
            Some(_) if from.ends_with(b"/") => from.len() - 1,
            _ => 0,
        };
        Self::Checked(rule, trusted)
    }

    /// Returns a cache key for `path` that is unique for this resolution and cannot be a path.
    pub(crate) fn key(self, path: &[u8]) -> Vec<u8> {
        // A zero byte ends the path, because paths cannot contain one.
        let mut key = [path, &[0]].concat();
        if let Self::Checked(rule, trusted) = self {
            key.push(rule as u8);
            key.extend_from_slice(&trusted.to_le_bytes());
        }
        key
    }

    /// Opens the folder `path` as an `O_PATH` descriptor. Operations on names in it cannot be redirected by links that
    /// are created in the path afterwards. Returns errors of the system, and `ELOOP` or `ENOTDIR` for a link that the
    /// rule rejects.
    pub fn folder(self, path: &[u8]) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match self {
            Self::Free => Ok(openat(CWD, as_path(path), flags, Mode::empty())?),
            Self::Checked(rule, trusted) => walk(&[path, b"/"].concat(), rule, trusted.min(path.len())),
        }
    }

    /// Returns true if a link may be followed, given the metadata of the link and of its target.
    pub fn follows(self, link: &Stat, target: &Stat) -> bool {
        match self {
            Self::Free => true,
            Self::Checked(LinkRule::Any, _) => false,
            Self::Checked(LinkRule::ForeignOwner, _) => link.st_uid == target.st_uid,
        }
    }

    /// Opens a folder as [`PathResolution::folder`] does. Creates up to `most` missing folders with the permissions
    /// `mode`.
    ///
    /// # Errors
    ///
    /// Errors of the system, such as `ENOENT` if more folders are missing; `ELOOP` or `ENOTDIR` for a link that the
    /// rule rejects.
    pub fn create_folders(self, path: &[u8], mode: u32, most: usize) -> io::Result<OwnedFd> {
        match self.folder(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && most > 0 => {}
            opened => return opened,
        }
        let (around, name) = split(path);
        let around = self.create_folders(around, mode, most - 1)?;
        match mkdirat(&around, as_path(name), Mode::from_raw_mode(mode)) {
            // Another request may have created the folder meanwhile.
            Ok(()) | Err(Errno::EXIST) => self.folder(path),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a regular file for reading.
    ///
    /// The path is first resolved to an `O_PATH` descriptor, which has no effect on named pipes and devices. If it is a
    /// regular file, it is opened for reading through this descriptor, so that the file cannot be replaced in between.
    ///
    /// # Errors
    ///
    /// Errors of the system; `ELOOP` or `ENOTDIR` for a link that the rule rejects, `InvalidInput` if it is not
    /// a regular file.
    pub fn open(self, path: &[u8]) -> io::Result<File> {
        let found = match self {
            Self::Free => {
                File::from(openat(CWD, as_path(path), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
            }
            Self::Checked(rule, trusted) => File::from(walk(path, rule, trusted.min(path.len()))?),
        };
        reopen_regular(&found)
    }

    /// Opens a regular file as [`PathResolution::open`] does, and returns its contents.
    ///
    /// # Errors
    ///
    /// Those of [`PathResolution::open`]; `FileTooLarge` if the file has more than `limit` bytes.
    pub fn read(self, path: &[u8], limit: u64) -> io::Result<Vec<u8>> {
        read_limited(self.open(path)?, limit)
    }

    /// Returns the metadata of the file that `path` refers to, after following links.
    ///
    /// # Errors
    ///
    /// Errors of the system; `ELOOP` or `ENOTDIR` for a link that the rule rejects.
    pub fn metadata(self, path: &[u8]) -> io::Result<Metadata> {
        match self {
            Self::Free => std::fs::metadata(as_path(path)),
            Self::Checked(rule, trusted) => File::from(walk(path, rule, trusted.min(path.len()))?).metadata(),
        }
    }
}

/// Splits a path into its folder (`.` if there is none) and its last component.
pub fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(0) => (b"/", &path[1..]),
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b".", path),
    }
}

/// Returns the contents of a regular file in an open folder. A symbolic link is rejected, with the error
/// `InvalidInput`.
///
/// # Errors
///
/// Those of [`PathResolution::read`].
pub fn read_at(folder: impl AsFd, name: &[u8], limit: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = File::from(openat(folder, as_path(name), flags, Mode::empty())?);
    read_limited(reopen_regular(&found)?, limit)
}

/// Opens a regular file for reading, given its `O_PATH` descriptor. Fails with `InvalidInput` if it is not a regular
/// file.
fn reopen_regular(found: &File) -> io::Result<File> {
    if !found.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let by_descriptor = format!("/proc/self/fd/{}", found.as_raw_fd());
    Ok(openat(CWD, by_descriptor.as_str(), flags, Mode::empty())?.into())
}

fn read_limited(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut contents)?;
    if contents.len() as u64 > limit {
        let text = format!("larger than the limit of {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(contents)
}

/// Resolves `path` to an `O_PATH` descriptor: the first `trusted` bytes by the kernel, which follows links, then one
/// component at a time. Fails if `rule` rejects a link among these components.
fn walk(path: &[u8], rule: LinkRule, trusted: usize) -> io::Result<OwnedFd> {
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let (start, rest) = path.split_at(trusted);
    let start: &[u8] = if !start.is_empty() {
        start
    } else if path.starts_with(b"/") {
        b"/"
    } else {
        b"."
    };
    let mut at = openat(CWD, as_path(start), directory, Mode::empty())?;
    let requires_directory = rest.ends_with(b"/");
    let mut components = rest.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).peekable();
    while let Some(name) = components.next() {
        let is_last = components.peek().is_none();
        let flags = if is_last && !requires_directory { OFlags::PATH | OFlags::CLOEXEC } else { directory };
        at = match rule {
            LinkRule::Any => open_no_link(&at, name, flags)?,
            LinkRule::ForeignOwner => open_own(&at, name, flags)?,
        };
    }
    Ok(at)
}

/// Opens a name that must not be a link. As in nginx, a link to a directory in the path gives "not a directory" (404),
/// and a link in place of the file gives `ELOOP` (403).
fn open_no_link(at: &OwnedFd, name: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    let opened = openat(at, as_path(name), flags | OFlags::NOFOLLOW, Mode::empty())?;
    if FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode).is_symlink() {
        return Err(Errno::LOOP.into());
    }
    Ok(opened)
}

/// Opens a name, following links. Fails with `ELOOP` if the owner of the name (for a link, of the link itself) differs
/// from that of the opened file. Names that are not links are compared as well, because a check before the opening
/// would be a race condition.
fn open_own(at: &OwnedFd, name: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    let opened = File::from(openat(at, as_path(name), flags, Mode::empty())?);
    let named = statat(at, as_path(name), AtFlags::SYMLINK_NOFOLLOW)?;
    if named.st_uid != opened.metadata()?.uid() {
        return Err(Errno::LOOP.into());
    }
    Ok(opened.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn error(walk: PathResolution, path: &[u8]) -> Option<Errno> {
        walk.metadata(path).err().and_then(|error| Errno::from_io_error(&error))
    }

    #[test]
    fn links_are_refused_wherever_they_stand_but_in_the_trusted_part() {
        let folder = std::env::temp_dir().join(format!("myriad-links-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("real/deep")).unwrap();
        std::fs::write(folder.join("real/deep/file"), "x").unwrap();
        symlink("real", folder.join("link")).unwrap();
        symlink("deep/file", folder.join("real/alias")).unwrap();
        let real = folder.canonicalize().unwrap().into_os_string().into_encoded_bytes();
        let path = |rest: &str| [&real[..], rest.as_bytes()].concat();
        let strict = PathResolution::Checked(LinkRule::Any, 0);
        assert_eq!(error(strict, &path("/real/./deep/../deep//file")), None);
        assert_eq!(error(strict, &path("/link/deep/file")), Some(Errno::NOTDIR));
        assert_eq!(error(strict, &path("/real/alias")), Some(Errno::LOOP));
        assert_eq!(error(strict, &path("/real/deep/file/")), Some(Errno::NOTDIR));
        assert_eq!(error(strict, &path("/real/deep/none")), Some(Errno::NOENT));
        assert_eq!(error(PathResolution::Checked(LinkRule::ForeignOwner, 0), &path("/link/alias")), None);
        let from = path("/link");
        assert_eq!(
            error(
                PathResolution::to(&path("/link/deep/file"), LinkRule::Any, &from),
                &path("/link/deep/file")
            ),
            None
        );
        let alias = path("/link/alias");
        assert_eq!(error(PathResolution::to(&alias, LinkRule::Any, &from), &alias), Some(Errno::LOOP));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn missing_folders_are_not_created_through_refused_symlinks() {
        let folder = std::env::temp_dir().join(format!("myriad-made-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("real")).unwrap();
        symlink("real", folder.join("link")).unwrap();
        let path = |name: &str| folder.join(name).into_os_string().into_encoded_bytes();
        let strict = PathResolution::Checked(LinkRule::Any, 0);
        strict.create_folders(&path("real/a/b"), 0o755, 8).unwrap();
        assert!(folder.join("real/a/b").is_dir());
        assert!(strict.create_folders(&path("link/c"), 0o755, 8).is_err() && !folder.join("real/c").exists());
        assert!(
            PathResolution::Free.create_folders(&path("x/y/z"), 0o755, 2).is_err(),
            "of three folders two may be made"
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn paths_are_a_folder_and_a_name() {
        assert_eq!(split(b"/srv/a/b"), (&b"/srv/a"[..], &b"b"[..]));
        assert_eq!(split(b"/a"), (&b"/"[..], &b"a"[..]));
        assert_eq!(split(b"a"), (&b"."[..], &b"a"[..]));
    }

    #[test]
    fn only_regular_files_within_the_limit_are_read_and_nothing_is_waited_for() {
        let folder = std::env::temp_dir().join(format!("myriad-read-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("folder")).unwrap();
        std::fs::write(folder.join("file"), "text").unwrap();
        symlink("file", folder.join("link")).unwrap();
        symlink("/dev/zero", folder.join("device")).unwrap();
        rustix::fs::mknodat(CWD, folder.join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let path = |name: &str| folder.join(name).into_os_string().into_encoded_bytes();
        let kind = |walk: PathResolution, name: &str, limit| {
            walk.read(&path(name), limit).map_err(|error| error.kind())
        };
        for walk in [PathResolution::Free, PathResolution::Checked(LinkRule::ForeignOwner, 0)] {
            assert_eq!(kind(walk, "file", 4).unwrap(), b"text");
            assert_eq!(kind(walk, "link", 4).unwrap(), b"text");
            assert_eq!(kind(walk, "file", 3).unwrap_err(), io::ErrorKind::FileTooLarge);
            // Opening it for reading would wait for a writer of the pipe.
            assert_eq!(kind(walk, "pipe", 4).unwrap_err(), io::ErrorKind::InvalidInput);
            assert_eq!(kind(walk, "folder", 4).unwrap_err(), io::ErrorKind::InvalidInput);
            assert_eq!(kind(walk, "none", 4).unwrap_err(), io::ErrorKind::NotFound);
        }
        assert_eq!(kind(PathResolution::Free, "device", 4).unwrap_err(), io::ErrorKind::InvalidInput);
        let open = PathResolution::Free.folder(&path("")).unwrap();
        assert_eq!(read_at(&open, b"file", 4).unwrap(), b"text");
        assert!(read_at(&open, b"link", 4).is_err() && read_at(&open, b"pipe", 4).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_trusted_part_ends_with_a_component() {
        let to = |from: &str| PathResolution::to(b"/srv/site/a", LinkRule::Any, from.as_bytes());
        let checked = |trusted| PathResolution::Checked(LinkRule::Any, trusted);
        assert_eq!(to("/srv/site"), checked(9));
        assert_eq!(to("/srv/site/"), checked(9));
        assert_eq!(to("/srv/si"), checked(0));
        assert_eq!(to("/other"), checked(0));
        assert_eq!(to(""), checked(0));
        assert_eq!(to("/srv/site/a"), PathResolution::Free);
    }

    #[test]
    fn what_one_rule_allows_is_not_known_under_another() {
        let walks = [
            PathResolution::Free,
            PathResolution::Checked(LinkRule::Any, 0),
            PathResolution::Checked(LinkRule::Any, 4),
            PathResolution::Checked(LinkRule::ForeignOwner, 0),
        ];
        let keys: std::collections::HashSet<_> = walks.iter().map(|walk| walk.key(b"/srv/a")).collect();
        assert_eq!(keys.len(), walks.len());
    }

    #[test]
    fn a_relative_path_begins_at_the_working_folder() {
        let known = PathResolution::Free.metadata(b"Cargo.toml").unwrap();
        let walked = PathResolution::Checked(LinkRule::Any, 0).metadata(b"Cargo.toml").unwrap();
        assert_eq!((known.dev(), known.ino()), (walked.dev(), walked.ino()));
    }

    #[test]
    fn a_name_with_a_zero_byte_is_no_file() {
        for walk in [
            PathResolution::Free,
            PathResolution::Checked(LinkRule::Any, 0),
            PathResolution::Checked(LinkRule::ForeignOwner, 0),
        ] {
            let error = walk.metadata(b"/tmp/a\0b").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{walk:?}");
        }
    }
}
