//! Folders that the supervisor makes for whoever writes into them.
//!
//! Root trusts no path below a folder that somebody else may change: there it follows no link, and hands over only what it has
//! made itself.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, fchown};
use std::path::{self, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use crate::accounts::Account;

/// A folder, and never what a link leads to.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Makes a folder, and those above it, for the account. One that is there and belongs to somebody else is handed to it, as by
/// nginx; but nothing is handed over where somebody else may have led the path, and where a link of theirs leads, the folder
/// is left to the worker to make.
///
/// # Errors
/// The folder is not there and cannot be made. Of one that cannot be handed over the worker tells, which then cannot use it.
pub(crate) fn make(path: &Path, account: Option<&Account>) -> io::Result<()> {
    // Without a slash at the end.
    let path: &Path = &path::absolute(path)?.components().collect::<PathBuf>();
    if path.is_dir() {
        if let Some(account) = account {
            let _ = hand_over(path, account);
        }
        return Ok(());
    }
    let Some(account) = account else {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        return fs::DirBuilder::new().mode(0o700).create(path);
    };
    Place::reach(path)?.map_or(Ok(()), |place| place.make(account))
}

/// Whether nobody but root can lead a path elsewhere, or put a folder where it leads.
///
/// # Errors
/// Somebody else can, or it cannot be found out.
pub(crate) fn is_safe(path: &Path) -> io::Result<()> {
    let path = path::absolute(path)?;
    let there = path.ancestors().skip(1).find(|above| above.is_dir()).ok_or(io::ErrorKind::NotFound)?;
    real(there).map(drop)
}

/// A folder once links are followed, which nobody but root can lead elsewhere.
fn real(folder: &Path) -> io::Result<PathBuf> {
    // As it is written, and as it is once links are followed.
    let real = folder.canonicalize()?;
    for above in folder.ancestors().chain(real.ancestors()) {
        let known = fs::symlink_metadata(above)?;
        let is_sticky = known.mode() & 0o1000 != 0;
        let is_open = !known.is_symlink() && known.mode() & 0o022 != 0 && !is_sticky;
        if !is_ours(&known) || is_open {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
    }
    Ok(real)
}

fn is_ours(known: &Metadata) -> bool {
    known.uid() == 0 || known.uid() == rustix::process::geteuid().as_raw()
}

/// Where a folder is, or is to be.
struct Place<'a> {
    above: File,
    name: &'a OsStr,
    /// Nobody but root can lead its path elsewhere.
    is_safe: bool,
}

impl<'a> Place<'a> {
    /// Opens the folder above; what is missing of it is made. None where a link of somebody else would have to be followed, or
    /// nothing above is safe.
    fn reach(path: &'a Path) -> io::Result<Option<Self>> {
        let safe = path.ancestors().skip(1).find_map(|above| Some((above, real(above).ok()?)));
        let Some((base, real)) = safe else { return Ok(None) };
        let mut names: Vec<&OsStr> = path.strip_prefix(base).unwrap_or(path).iter().collect();
        let Some(name) = names.pop() else { return Ok(None) };
        let is_safe = names.is_empty();
        let mut above = File::from(rustix::fs::open(&real, FOLDER, Mode::empty())?);
        for name in names {
            match mkdirat(&above, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            above = match open(&above, name) {
                Err(Errno::NOTDIR | Errno::LOOP) if is_link(&above, name)? => return Ok(None),
                there => there?,
            };
        }
        Ok(Some(Self { above, name, is_safe }))
    }

    /// A worker may be at the name already, and must not find it somebody else's: the folder is handed over before it has
    /// that name, under one that nobody foresees.
    fn make(&self, account: &Account) -> io::Result<()> {
        let mut aside = self.name.to_owned();
        aside.push(format!(".{:016x}", RandomState::new().hash_one(std::process::id())));
        mkdirat(&self.above, &aside, Mode::RWXU)?;
        let made = open(&self.above, &aside)
            .map_err(io::Error::from)
            .and_then(|folder| hand_over_new(&folder, account))
            .and_then(|()| Ok(renameat(&self.above, &aside, &self.above, self.name)?));
        if made.is_err() {
            // Empty, and of no use to anybody.
            let _ = unlinkat(&self.above, &aside, AtFlags::REMOVEDIR);
        }
        made
    }
}

fn open(above: &File, name: &OsStr) -> Result<File, Errno> {
    openat(above, name, FOLDER, Mode::empty()).map(File::from)
}

fn is_link(above: &File, name: &OsStr) -> Result<bool, Errno> {
    let known = statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(known.st_mode).is_symlink())
}

/// Whoever may change the folder above may have put another one there: one that is ours and empty is as good as the new one.
fn hand_over_new(folder: &File, account: &Account) -> io::Result<()> {
    let is_own = |name: &[u8]| matches!(name, b"." | b"..");
    let mut entries = Dir::read_from(folder)?;
    let is_empty = entries.all(|entry| entry.is_ok_and(|entry| is_own(entry.file_name().to_bytes())));
    if !is_empty || !is_ours(&folder.metadata()?) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    fchown(folder, Some(account.uid), Some(account.gid))
}

fn hand_over(path: &Path, account: &Account) -> io::Result<()> {
    let place = Place::reach(path)?.ok_or(io::ErrorKind::PermissionDenied)?;
    let folder = open(&place.above, place.name)?;
    let known = folder.metadata()?;
    if known.uid() == account.uid || may_write(account, &known) {
        return Ok(());
    }
    // What a stranger made in a folder that all may write, as `/tmp` is, may hold anything.
    if !is_ours(&known) || !place.is_safe {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    fchown(&folder, Some(account.uid), Some(account.gid))?;
    folder.set_permissions(Permissions::from_mode(known.mode() & 0o7777 | 0o700))
}

/// Whether the account may make files there though the folder is not its own: a folder that is for all stays so.
fn may_write(account: &Account, known: &Metadata) -> bool {
    let is_group = account.gid == known.gid() || account.groups.contains(&known.gid());
    let wanted = if is_group { 0o030 } else { 0o003 };
    known.mode() & wanted == wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{chown, symlink};

    /// A folder of its own, removed at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        /// None where the tests' user is not root, who alone hands anything over.
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

    impl Drop for Scratch {
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
    fn a_folder_is_made_for_the_account_behind_links_of_root_alone() {
        let Some(scratch) = Scratch::new("made") else { return };
        let real = scratch.folder("real", 0);
        symlink(&real, scratch.path("link")).expect("a link");
        make(&scratch.path("link/deep/zone/"), Some(&account())).expect("made");
        let zone = real.join("deep/zone");
        assert_eq!((owner(&zone), owner(&real.join("deep"))), (OTHER, 0));
        assert_eq!(fs::metadata(&zone).expect("there").mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(real.join("deep")).expect("a folder").count(), 1, "nothing is left aside");

        let own = scratch.folder("own", OTHER);
        let elsewhere = scratch.folder("elsewhere", 0);
        make(&own.join("zone"), Some(&account())).expect("made");
        assert_eq!(owner(&own.join("zone")), OTHER);
        symlink(&elsewhere, own.join("link")).expect("a link");
        for path in ["link/zone", "link/deep/zone"] {
            make(&own.join(path), Some(&account())).expect("left to the worker");
        }
        assert_eq!(fs::read_dir(&elsewhere).expect("a folder").count(), 0);

        fs::write(scratch.path("file"), "").expect("a file");
        let error = make(&scratch.path("file/zone"), Some(&account())).expect_err("no folder");
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    }

    #[test]
    fn what_lies_where_a_folder_could_be_made_keeps_its_owner() {
        let Some(scratch) = Scratch::new("foreseen") else { return };
        let own = scratch.folder("own", OTHER);
        let victim = scratch.folder("victim", 0);
        // Left over, or put there: in a container the process always has the same number.
        symlink(&victim, own.join(format!("zone.{}", std::process::id()))).expect("a link");
        make(&own.join("zone"), Some(&account())).expect("made");
        assert_eq!((owner(&own.join("zone")), owner(&victim)), (OTHER, 0));
    }

    #[test]
    fn of_what_was_put_into_the_place_of_a_new_folder_nothing_is_handed_over() {
        let Some(scratch) = Scratch::new("swapped") else { return };
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
        assert!(open(&above, OsStr::new("link")).is_err(), "no link is followed");
    }

    #[test]
    fn a_folder_that_is_there_is_handed_over_where_root_alone_leads_to_it() {
        let Some(scratch) = Scratch::new("there") else { return };
        let safe = scratch.folder("safe", 0);
        make(&safe, Some(&account())).expect("handed over");
        assert_eq!(owner(&safe), OTHER);
        // Others may put any folder of root there.
        let inner = scratch.folder("safe/inner", 0);
        make(&inner, Some(&account())).expect("there");
        assert_eq!(owner(&inner), 0);
    }
}
