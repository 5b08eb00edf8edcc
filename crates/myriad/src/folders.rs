//! Folders that the supervisor creates for the user of the workers.
//!
//! Below a folder that another user can change, root changes the owner only of folders that it has created itself
//! ([`myriad_cli::path_walk`]).

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, fchown};
use std::path::{self, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

use myriad_cli::accounts::Account;
use myriad_cli::path_walk::{FOLDER, MissingFolder, PathWalk, is_ours};

/// Prefix of the names of renamed folders that are being removed.
const OLD: &[u8] = b".old-";

/// Creates a folder and its parents for the account; for the present user if `account` is `None`.
///
/// An existing folder that the account cannot write to is given to the account, as in nginx, but only if root owns it
/// and no other user could have redirected its path. Returns `false` if the path contains a link of another user; the
/// worker must create the folder in that case.
///
/// # Errors
/// Returns an error if the folder does not exist and cannot be created. If only its owner cannot be changed, the worker
/// logs that it cannot use the folder.
pub(crate) fn make(path: &Path, account: Option<&Account>) -> io::Result<bool> {
    // Path without a trailing slash.
    let path: &Path = &path::absolute(path)?.components().collect::<PathBuf>();
    if path.is_dir() {
        if let Some(account) = account {
            let _ = hand_over(path, account);
        }
        return Ok(true);
    }
    let Some(account) = account else {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        return fs::DirBuilder::new().mode(0o700).create(path).map(|()| true);
    };
    let Some(place) = FolderPlace::open_parent(path)? else { return Ok(false) };
    place.make(account).map(|()| true)
}

/// Creates a file for the account, or gives it an existing file.
///
/// Below a folder that another user can change, only a new file is given to the account: the other user could have put
/// a link to any file there.
///
/// # Errors
/// Returns an error if the file cannot be created, if the path contains a link of another user, or if an existing entry
/// is not a plain file with a single name or is below a folder that another user can change.
pub(crate) fn make_file(path: &Path, account: &Account) -> io::Result<()> {
    let path = path::absolute(path)?;
    let Some(place) = FolderPlace::open_parent(&path)? else {
        return Err(io::ErrorKind::PermissionDenied.into());
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let flags = if place.is_safe { flags } else { flags | OFlags::EXCL };
    let file = File::from(openat(&place.above, place.name, flags, Mode::RUSR | Mode::WUSR)?);
    let known = file.metadata()?;
    if !known.is_file() || known.nlink() != 1 {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    if known.uid() == account.uid { Ok(()) } else { fchown(&file, Some(account.uid), Some(account.gid)) }
}

/// Renames a folder that belongs to neither the account nor root, so that it can be recreated, and returns the user ID
/// of its owner. Returns `None` for any other folder, which is left unchanged, and if the path is no folder.
///
/// The contents of the renamed folder are removed in the background, and so are renamed folders next to it that an
/// earlier process did not remove, unless another user can redirect the path. They are not given to the account,
/// because the owner may have created hard links to any file there.
///
/// # Errors
/// Returns an error if the folder must be renamed, but a user other than root can redirect the path or renaming fails.
pub(crate) fn set_aside_foreign(path: &Path, account: &Account) -> io::Result<Option<u32>> {
    let path = path::absolute(path)?;
    let Some(above) = path.parent() else { return Ok(None) };
    // Folders left by a process that terminated before it had removed them.
    let old = fs::read_dir(above).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut old: Vec<PathBuf> =
        old.filter(|path| path.file_name().is_some_and(|name| name.as_bytes().starts_with(OLD))).collect();
    let owner = match fs::symlink_metadata(&path) {
        Ok(known) if known.is_dir() && known.uid() != account.uid && !is_ours(known.uid()) => known.uid(),
        _ => account.uid,
    };
    if owner != account.uid {
        is_safe(&path)?;
        let mut aside = OsStr::from_bytes(OLD).to_owned();
        aside.push(format!("{:016x}", RandomState::new().hash_one(std::process::id())));
        let aside = above.join(aside);
        fs::rename(&path, &aside)?;
        old.push(aside);
    }
    if !old.is_empty() && is_safe(&path).is_ok() {
        // Removal runs in the background, as a cache may contain a million files. The next start retries folders that
        // cannot be removed.
        std::thread::spawn(move || old.iter().for_each(|path| drop(fs::remove_dir_all(path))));
    }
    Ok((owner != account.uid).then_some(owner))
}

/// Checks that only root can redirect a path or put a folder at its last component.
///
/// # Errors
/// Returns an error if another user can, or if the check fails.
pub(crate) fn is_safe(path: &Path) -> io::Result<()> {
    let path = path::absolute(path)?;
    let above = path.parent().ok_or(io::ErrorKind::NotFound)?;
    let walk = PathWalk::from_root()?.walk(above, MissingFolder::Ends)?.filter(|walk| walk.is_safe);
    walk.map(drop).ok_or_else(|| io::ErrorKind::PermissionDenied.into())
}

/// Location of a folder that exists or is to be created: its open parent and its name.
struct FolderPlace<'a> {
    above: File,
    name: &'a OsStr,
    /// True if only root can redirect the path.
    is_safe: bool,
}

impl<'a> FolderPlace<'a> {
    /// Opens the parent folder and creates its missing parts. Returns `None` if the path contains a link of another
    /// user.
    fn open_parent(path: &'a Path) -> io::Result<Option<Self>> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        let walk = PathWalk::from_root()?.walk(above, MissingFolder::Made)?;
        Ok(walk.map(|PathWalk { at, is_safe }| Self { above: at, name, is_safe }))
    }

    /// Creates the folder under a random name, gives it to the account, then renames it: a running worker may use the
    /// name at any time and must not find a folder with another owner.
    fn make(&self, account: &Account) -> io::Result<()> {
        let mut aside = self.name.to_owned();
        aside.push(format!(".{:016x}", RandomState::new().hash_one(std::process::id())));
        mkdirat(&self.above, &aside, Mode::RWXU)?;
        let made = open(&self.above, &aside)
            .map_err(io::Error::from)
            .and_then(|folder| hand_over_new(&folder, account))
            .and_then(|()| Ok(renameat(&self.above, &aside, &self.above, self.name)?));
        if made.is_err() {
            // The folder is empty and unused.
            let _ = unlinkat(&self.above, &aside, AtFlags::REMOVEDIR);
        }
        made
    }
}

fn open(above: &File, name: &OsStr) -> Result<File, Errno> {
    openat(above, name, FOLDER, Mode::empty()).map(File::from)
}

/// Gives a new folder to the account if root owns it and it is empty: a user who can change the parent folder could
/// have put another folder in its place.
fn hand_over_new(folder: &File, account: &Account) -> io::Result<()> {
    let is_own = |name: &[u8]| matches!(name, b"." | b"..");
    let mut entries = Dir::read_from(folder)?;
    let is_empty = entries.all(|entry| entry.is_ok_and(|entry| is_own(entry.file_name().to_bytes())));
    if !is_empty || !is_ours(folder.metadata()?.uid()) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    fchown(folder, Some(account.uid), Some(account.gid))
}

fn hand_over(path: &Path, account: &Account) -> io::Result<()> {
    let place = FolderPlace::open_parent(path)?.ok_or(io::ErrorKind::PermissionDenied)?;
    let folder = open(&place.above, place.name)?;
    let known = folder.metadata()?;
    if known.uid() == account.uid || may_write(account, &known) {
        return Ok(());
    }
    // A folder that another user created in a folder writable by all, such as `/tmp`, may contain any entries.
    if !is_ours(known.uid()) || !place.is_safe {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    fchown(&folder, Some(account.uid), Some(account.gid))?;
    folder.set_permissions(Permissions::from_mode(known.mode() & 0o7777 | 0o700))
}

/// Returns whether the account may create files in a folder of another owner, by the rights of its group or of all
/// users. Such a folder is shared with other users and remains unchanged.
fn may_write(account: &Account, known: &Metadata) -> bool {
    let is_group = account.gid == known.gid() || account.groups.contains(&known.gid());
    let wanted = if is_group { 0o030 } else { 0o003 };
    known.mode() & wanted == wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{chown, lchown, symlink};

    /// Temporary folder of a test, removed on drop.
    struct ScratchFolder(PathBuf);

    impl ScratchFolder {
        /// Creates the folder; returns `None` if the tests do not run as root, because only root can change owners.
        fn new(name: &str) -> Option<Self> {
            let path = std::env::temp_dir().join(format!("myriad-folders-{name}-{}", std::process::id()));
            fs::create_dir(&path).expect("mkdir");
            let scratch = Self(path);
            rustix::process::geteuid().is_root().then_some(scratch)
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }

        fn folder(&self, name: &str, owner: u32) -> PathBuf {
            let path = self.path(name);
            fs::create_dir(&path).expect("mkdir");
            chown(&path, Some(owner), Some(owner)).expect("chown");
            path
        }
    }

    impl Drop for ScratchFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const OTHER: u32 = 54_321;

    fn account() -> Account {
        Account { uid: OTHER, gid: OTHER, groups: vec![OTHER] }
    }

    fn owner(path: &Path) -> u32 {
        fs::symlink_metadata(path).expect("there").uid()
    }

    #[test]
    fn folder_is_created_for_account_only_through_links_owned_by_root() {
        let Some(scratch) = ScratchFolder::new("made") else { return };
        let real = scratch.folder("real", 0);
        symlink(&real, scratch.path("link")).expect("a link");
        make(&scratch.path("link/deep/zone/"), Some(&account())).expect("made");
        let zone = real.join("deep/zone");
        assert_eq!((owner(&zone), owner(&real.join("deep"))), (OTHER, 0));
        assert_eq!(fs::metadata(&zone).expect("there").mode() & 0o777, 0o700);
        assert_eq!(
            fs::read_dir(real.join("deep")).expect("a folder").count(),
            1,
            "no temporary folder is left"
        );

        let own = scratch.folder("own", OTHER);
        let elsewhere = scratch.folder("elsewhere", 0);
        make(&own.join("zone"), Some(&account())).expect("made");
        assert_eq!(owner(&own.join("zone")), OTHER);
        symlink(&elsewhere, own.join("link")).expect("a link");
        for path in ["link/zone", "link/deep/zone"] {
            assert!(
                !make(&own.join(path), Some(&account())).expect("no error"),
                "the worker creates the folder itself"
            );
            assert!(is_safe(&own.join(path)).is_err());
        }
        assert_eq!(fs::read_dir(&elsewhere).expect("a folder").count(), 0);

        fs::write(scratch.path("file"), "").expect("a file");
        let error = make(&scratch.path("file/zone"), Some(&account())).expect_err("no folder");
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    }

    #[test]
    fn root_link_to_folder_of_other_user_is_followed_only_if_others_cannot_alter_it() {
        let Some(scratch) = ScratchFolder::new("disk") else { return };
        let disk = scratch.folder("disk", OTHER + 1);
        scratch.folder("links", 0);
        symlink("../disk", scratch.path("links/relative")).expect("a link");
        symlink(scratch.path("links/relative"), scratch.path("links/absolute")).expect("a link");
        for (link, zone) in [("relative", "zone"), ("absolute", "deep/zone")] {
            let path = scratch.path("links").join(link).join(zone);
            assert!(make(&path, Some(&account())).expect("made"));
            assert_eq!(owner(&disk.join(zone)), OTHER);
            assert!(is_safe(&path).is_err(), "the owner of the parent folder may replace it");
        }

        // A link of root, whose location the owner of the disk controls, or whose target is reached through a link of
        // that owner.
        let elsewhere = scratch.folder("elsewhere", 0);
        symlink(&elsewhere, disk.join("link")).expect("a link");
        symlink(disk.join("link"), scratch.path("links/on")).expect("a link");
        // A link of another user in a folder of root.
        symlink(&elsewhere, scratch.path("links/theirs")).expect("a link");
        lchown(scratch.path("links/theirs"), Some(OTHER), None).expect("chown");
        for link in ["relative/link", "on", "theirs"] {
            let path = scratch.path("links").join(link).join("zone");
            assert!(!make(&path, Some(&account())).expect("no error"), "{link}");
            assert!(is_safe(&path).is_err(), "{link}");
        }
        assert_eq!(fs::read_dir(&elsewhere).expect("a folder").count(), 0);

        symlink("loop", scratch.path("links/loop")).expect("a link");
        let error = make(&scratch.path("links/loop/zone"), Some(&account())).expect_err("no end");
        assert_eq!(error.raw_os_error(), Some(Errno::LOOP.raw_os_error()));
    }

    /// Tests a start folder that other users can change, as `/` is in some images.
    #[test]
    fn below_a_start_that_others_may_change_folders_are_made_and_no_link_is_followed() {
        let Some(scratch) = ScratchFolder::new("start") else { return };
        fs::set_permissions(&scratch.0, Permissions::from_mode(0o775)).expect("chmod");
        symlink("deep", scratch.path("link")).expect("a link");
        let walk = |path: &str| {
            let start = PathWalk::from(File::open(&scratch.0).expect("a folder")).expect("a start");
            start.walk(Path::new(path), MissingFolder::Made).expect("no error")
        };
        assert!(!walk("deep/folder").expect("a walk").is_safe);
        assert!(scratch.path("deep/folder").is_dir());
        assert!(walk("link/other").is_none());
        assert_eq!(fs::read_dir(scratch.path("deep")).expect("a folder").count(), 1);
    }

    #[test]
    fn existing_link_in_place_of_temporary_folder_does_not_change_owner_of_target() {
        let Some(scratch) = ScratchFolder::new("foreseen") else { return };
        let own = scratch.folder("own", OTHER);
        let victim = scratch.folder("victim", 0);
        // A leftover or planted link: in a container the process always has the same number.
        symlink(&victim, own.join(format!("zone.{}", std::process::id()))).expect("a link");
        make(&own.join("zone"), Some(&account())).expect("made");
        assert_eq!((owner(&own.join("zone")), owner(&victim)), (OTHER, 0));
    }

    #[test]
    fn of_what_was_put_into_the_place_of_a_new_folder_nothing_is_handed_over() {
        let Some(scratch) = ScratchFolder::new("swapped") else { return };
        let full = scratch.folder("full", 0);
        fs::write(full.join("secret"), "").expect("a file");
        let foreign = scratch.folder("foreign", OTHER + 1);
        let above = File::open(&scratch.0).expect("a folder");
        for folder in [&full, &foreign] {
            let before = owner(folder);
            let opened = open(&above, folder.file_name().expect("a name")).expect("a folder");
            assert!(hand_over_new(&opened, &account()).is_err());
            assert_eq!(owner(folder), before);
        }
        symlink(&full, scratch.path("link")).expect("a link");
        assert!(open(&above, OsStr::new("link")).is_err(), "a symbolic link is not followed");
    }

    #[test]
    fn a_folder_that_is_there_is_handed_over_where_root_alone_leads_to_it() {
        let Some(scratch) = ScratchFolder::new("there") else { return };
        let safe = scratch.folder("safe", 0);
        make(&safe, Some(&account())).expect("the folder is handed over");
        assert_eq!(owner(&safe), OTHER);
        // Other users may move any folder of root there.
        let inner = scratch.folder("safe/inner", 0);
        make(&inner, Some(&account())).expect("there");
        assert_eq!(owner(&inner), 0);
    }
}
