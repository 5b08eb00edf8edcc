//! Files that are written to the folder of a site, or removed from it.
//!
//! PHP may write to the folder, and may have created a link at a path to which root is about to write. Therefore each
//! operation uses an open folder and a name in it, and follows no link, except to folders of the owner of the link.
//! Root also changes to the owner of the folder first.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use myriad_files::{Draft, read_at};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;

use super::options::SiteOptions;
use super::sites;
use crate::accounts::Account;
use crate::path_walk::{MissingFolder, PathWalk};
use crate::pidfile::reason;
use crate::site_folder::{FILE_BYTES, SiteFolder};

impl SiteOptions {
    /// Returns the name of the source of [`Self::roots`] for messages: `--root`, or `folder` for the folders in the
    /// lines of several sites.
    pub(super) fn source_of_roots(&self) -> &'static str {
        if self.is_several() { "folder" } else { "--root" }
    }

    /// Returns the folder of each site, and the name of its zone.
    pub(super) fn roots(&self) -> Result<Vec<(PathBuf, String)>, String> {
        if !self.is_several() {
            return Ok(vec![(self.root.clone(), "wordpress".to_owned())]);
        }
        let lines = sites::read(&self.sites, self.sites_file.as_deref())?;
        let zones = sites::zones(&lines);
        Ok(lines.into_iter().map(|line| line.root).zip(zones).collect())
    }
}

/// Returns `BYTES` random bytes in hexadecimal digits. `option` is named in the error text.
pub(super) fn random<const BYTES: usize>(option: &str) -> Result<String, String> {
    let mut bytes = [0; BYTES];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(count) if count == BYTES => Ok(hex(&bytes)),
        outcome => Err(format!("wordpress: {option}: getrandom() failed ({outcome:?})")),
    }
}

/// Formats bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Open folder in which files are written or removed.
pub(super) struct WritableFolder {
    opened: OwnedFd,
    /// True if links to folders of the same owner are followed; false for root, to whom the system permits everything.
    follows_own: bool,
}

/// Calls `run` with a folder of a site; root does this with the rights of the folder's owner. The second value of the
/// pair is the owner that the folder must have; `None` for a folder inside the site.
///
/// # Errors
/// Returns an error text that names `option` if the folder cannot be opened, its path contains a link that is not
/// followed, it has another owner, or `run` fails.
pub(super) fn as_owner<T: Send>(
    option: &str,
    (folder, owner): &(PathBuf, Option<u32>),
    run: impl FnOnce(&WritableFolder) -> io::Result<T> + Send,
) -> Result<T, String> {
    let failed = |error: io::Error| {
        let remedy = match Errno::from_io_error(&error) {
            Some(Errno::LOOP) => {
                "a symbolic link to a folder of another owner is not followed: give the folder itself"
            }
            _ => "run it as root, or as the owner of that folder",
        };
        format!("wordpress: {option}: {}: {}; {remedy}", folder.display(), reason(&error))
    };
    let is_root = rustix::process::geteuid().is_root();
    let site = SiteFolder::new(folder);
    let opened = site.folder("").map_err(failed)?;
    let known = fstat(&opened).map_err(|error| failed(error.into()))?;
    // The owner was checked when the layout was found, but another folder may have been put there since.
    if owner.is_some_and(|owner| owner != known.st_uid) {
        return Err(failed(io::ErrorKind::PermissionDenied.into()));
    }
    if !is_root || known.st_uid == 0 {
        // Another user may have put a link of root here.
        let opened = if is_root { site.folder_without_links("").map_err(failed)? } else { opened };
        return run(&WritableFolder { opened, follows_own: !is_root }).map_err(failed);
    }
    let account = Account { uid: known.st_uid, gid: known.st_gid, groups: vec![known.st_gid] };
    // Only this thread gets the rights of the owner. It exits after `run`.
    std::thread::scope(|scope| {
        let folder = WritableFolder { opened, follows_own: true };
        let work = scope.spawn(move || account.switch_process().and_then(|()| run(&folder)));
        work.join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that writes the files has stopped")))
            .map_err(failed)
    })
}

impl WritableFolder {
    /// Opens a folder of the server; creates it if it does not exist. Root follows only links that no other user could
    /// have created.
    ///
    /// # Errors
    /// Returns errors of the system; `PermissionDenied` if the path contains another link.
    pub(super) fn of_server(path: &Path) -> io::Result<Self> {
        let is_root = rustix::process::geteuid().is_root();
        if !is_root {
            std::fs::create_dir_all(path)?;
            return Ok(Self { opened: File::open(path)?.into(), follows_own: true });
        }
        let walk = PathWalk::from_root()?.walk(path, MissingFolder::Made)?;
        let at = walk.ok_or(io::ErrorKind::PermissionDenied)?.at;
        Ok(Self { opened: at.into(), follows_own: false })
    }

    /// Opens a subfolder; creates it if it does not exist.
    pub(super) fn make_folder(&self, name: &str) -> io::Result<Self> {
        match mkdirat(&self.opened, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => self.folder(name),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a subfolder. A link is followed only if `follows_own` is set and the link and its target have the same
    /// owner.
    pub(super) fn folder(&self, name: &str) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = match openat(&self.opened, name, flags | OFlags::NOFOLLOW, Mode::empty()) {
            Err(Errno::NOTDIR | Errno::LOOP) if self.follows_own => {
                let link = statat(&self.opened, name, AtFlags::SYMLINK_NOFOLLOW)?;
                let opened = openat(&self.opened, name, flags, Mode::empty())?;
                let is_own = FileType::from_raw_mode(link.st_mode).is_symlink()
                    && link.st_uid == fstat(&opened)?.st_uid;
                if is_own { opened } else { return Err(Errno::LOOP.into()) }
            }
            opened => opened?,
        };
        Ok(Self { opened, follows_own: self.follows_own })
    }

    /// Writes a file atomically. If the name is that of a link, the link is replaced, not followed.
    pub(super) fn replace(&self, name: &str, text: &str, mode: u32) -> io::Result<()> {
        let mut draft = Draft::begin(&self.opened)?;
        draft.file().write_all(text.as_bytes())?;
        draft.place(name.as_bytes(), mode, None)
    }

    /// Returns the text of a regular file; `None` if it does not exist. Returns an error if it has more than
    /// [`FILE_BYTES`] bytes, is not a regular file, or cannot be read.
    pub(super) fn text(&self, name: &str) -> io::Result<Option<String>> {
        match read_at(&self.opened, name.as_bytes(), FILE_BYTES) {
            Ok(text) => Ok(Some(String::from_utf8_lossy(&text).into_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes a file or a link. A missing file causes no error.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        io_result(unlinkat(&self.opened, name, AtFlags::empty()))
    }

    /// Removes a folder if it is empty. A missing folder causes no error.
    pub(super) fn remove_folder(&self, name: &str) -> io::Result<()> {
        match unlinkat(&self.opened, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            outcome => io_result(outcome),
        }
    }
}

fn io_result(outcome: Result<(), Errno>) -> io::Result<()> {
    match outcome {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
