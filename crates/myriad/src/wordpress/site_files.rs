//! Files that are written into the folder of a site.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::options::Options;
use super::sites;
use crate::accounts::Account;
use crate::pidfile::reason;

impl Options {
    /// Folders of the sites, and the names of their zones.
    pub(super) fn roots(&self) -> Result<Vec<(PathBuf, String)>, String> {
        if !self.is_several() {
            return Ok(vec![(self.root.clone(), "wordpress".to_owned())]);
        }
        let lines = sites::read(&self.sites, self.sites_file.as_deref())?;
        let zones = sites::zones(&lines);
        Ok(lines.into_iter().map(|line| line.root).zip(zones).collect())
    }
}

/// Random bytes in hexadecimal digits, for what the option asks for.
pub(super) fn random<const BYTES: usize>(option: &str) -> Result<String, String> {
    let mut bytes = [0; BYTES];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(count) if count == BYTES => Ok(hex(&bytes)),
        outcome => Err(format!("wordpress: {option}: getrandom() failed ({outcome:?})")),
    }
}

/// Bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Runs as the owner of the folder if root runs it: where PHP may write, it may have left a link, and root would follow it.
pub(super) fn as_owner<T: Send>(
    option: &str,
    folder: &Path,
    run: impl FnOnce() -> io::Result<T> + Send,
) -> Result<T, String> {
    let known = fs::metadata(folder);
    let owner = known.as_ref().map_or(0, MetadataExt::uid);
    let told = |error: io::Error| {
        format!(
            "wordpress: {option}: {}: {}; run it as root, or as the user who owns that folder",
            folder.display(),
            reason(&error)
        )
    };
    known.as_ref().map_err(|error| told(io::Error::from(error.kind())))?;
    if !rustix::process::geteuid().is_root() || owner == 0 {
        return run().map_err(told);
    }
    let group = known.map_or(owner, |known| known.gid());
    let account = Account { uid: owner, gid: group, groups: vec![group] };
    // Only this thread is the owner, and it ends with the work.
    std::thread::scope(|scope| {
        let work = scope.spawn(move || account.assume().and_then(|()| run()));
        work.join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that writes it has ended")))
            .map_err(told)
    })
}

/// Makes folders that are not there, the upper ones first.
pub(super) fn make_folders(folders: &[&Path]) -> io::Result<()> {
    for folder in folders {
        match fs::DirBuilder::new().mode(0o755).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Writes a file beside its place and moves it there: WordPress never sees half of it.
pub(super) fn replace(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let new = path.with_extension(format!("new-{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.set_permissions(fs::Permissions::from_mode(mode)))
        .and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}
