//! State that the worker wants to keep: written here, where its files belong to whoever started the server.
//!
//! The worker talks to authorities and holds their answers; it may not be able to write anywhere, and what it could write
//! whoever shares its user could read. So it hands its files over, and only those that the configuration names are taken.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use myriad_conf::Model;

/// The files that the configuration names; `prefix` completes relative names.
pub(crate) fn names(model: &Model, prefix: &Path) -> Vec<PathBuf> {
    myriad_tls::acme_state(model, prefix)
}

/// Reads those of the files that are there: path and bytes.
pub(crate) fn read(model: &Model, prefix: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = names(model, prefix).into_iter();
    files.filter_map(|path| fs::read(&path).ok().map(|bytes| (path, bytes))).collect()
}

/// Replaces a file as a whole: after a crash it is the old one or the new one.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    if !folder.is_dir() {
        if let Some(above) = folder.parent() {
            fs::create_dir_all(above)?;
        }
        fs::DirBuilder::new().mode(0o700).create(folder)?;
    }
    let mut aside = path.as_os_str().to_owned();
    aside.push(".new");
    let aside = PathBuf::from(aside);
    // Left over from a crash. Nobody's link is followed: the new one is made, or nothing is.
    if let Err(error) = fs::remove_file(&aside)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn file_is_replaced_whole_and_is_its_owners_alone() {
        let folder = std::env::temp_dir().join(format!("myriad-state-{}", std::process::id()));
        let path = folder.join("deep/state/account.key");
        write(&path, b"one").expect("written");
        // A crash in the middle of the next one, and somebody's link in its place.
        let aside = folder.join("deep/state/account.key.new");
        std::os::unix::fs::symlink("/nowhere/else", &aside).expect("link");
        write(&path, b"two").expect("written");
        assert_eq!(fs::read(&path).expect("read"), b"two");
        assert!(!aside.exists());
        let mode = |path: &Path| fs::metadata(path).expect("metadata").permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().expect("folder"))), (0o600, 0o700));
        fs::remove_dir_all(&folder).expect("clean");
    }
}
