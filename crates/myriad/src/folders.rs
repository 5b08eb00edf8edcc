//! Folders that the supervisor makes for whoever writes into them.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, fchown};
use std::path::{self, Path};

use rustix::fs::OFlags;

use crate::accounts::Account;

/// Makes a folder, and those above it, for the account. One that is there and belongs to somebody else is handed to it, as by
/// nginx; but no link is followed, and nothing is handed over where somebody else may have led the path.
///
/// # Errors
/// The folder is not there and cannot be made. Of one that cannot be handed over the worker tells, which then cannot use it.
pub(crate) fn make(path: &Path, account: Option<&Account>) -> io::Result<()> {
    if path.is_dir() {
        if let Some(account) = account {
            let _ = hand_over(path, account);
        }
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let Some(account) = account else { return fs::DirBuilder::new().mode(0o700).create(path) };
    // A worker may be at its name already, and must not find it somebody else's: it is handed over before it has that name.
    let path: &Path = &path.components().collect::<path::PathBuf>();
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".{}", std::process::id()));
    fs::DirBuilder::new().mode(0o700).create(&aside)?;
    let made = chown(&aside, Some(account.uid), Some(account.gid)).and_then(|()| fs::rename(&aside, path));
    if made.is_err() {
        // Empty, and of no use to anybody.
        let _ = fs::remove_dir(&aside);
    }
    made
}

/// Whether nobody but root can lead a path elsewhere, or put a folder where it leads.
///
/// # Errors
/// Somebody else can, or it cannot be found out.
pub(crate) fn is_safe(path: &Path) -> io::Result<()> {
    let path = path::absolute(path)?;
    let there = path.ancestors().skip(1).find(|above| above.is_dir()).ok_or(io::ErrorKind::NotFound)?;
    // As it is written, and as it is once links are followed.
    let real = there.canonicalize()?;
    for above in there.ancestors().chain(real.ancestors()) {
        let known = fs::symlink_metadata(above)?;
        let is_sticky = known.mode() & 0o1000 != 0;
        let is_open = !known.is_symlink() && known.mode() & 0o022 != 0 && !is_sticky;
        if !is_ours(&known) || is_open {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
    }
    Ok(())
}

fn is_ours(known: &Metadata) -> bool {
    known.uid() == 0 || known.uid() == rustix::process::geteuid().as_raw()
}

fn hand_over(path: &Path, account: &Account) -> io::Result<()> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let folder: File = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    let known = folder.metadata()?;
    if known.uid() == account.uid || may_write(account, &known) {
        return Ok(());
    }
    // What a stranger made in a folder that all may write, as `/tmp` is, may hold anything.
    if !is_ours(&known) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    is_safe(path)?;
    fchown(&folder, Some(account.uid), Some(account.gid))?;
    folder.set_permissions(Permissions::from_mode(known.mode() & 0o7777 | 0o700))
}

/// Whether the account may make files there though the folder is not its own: a folder that is for all stays so.
fn may_write(account: &Account, known: &Metadata) -> bool {
    let is_group = account.gid == known.gid() || account.groups.contains(&known.gid());
    let wanted = if is_group { 0o030 } else { 0o003 };
    known.mode() & wanted == wanted
}
