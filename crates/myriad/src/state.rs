//! State of workers that survives restarts, such as certificates, in files of the user that started the server.
//!
//! The worker obtains certificates from ACME servers. It may have no right to write anywhere, and other programs of its
//! user could read its files. It therefore sends the files to the supervisor, which stores only files that the
//! configuration names.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use myriad_conf::Model;

/// Returns the paths of the files in which the supervisor stores state for the workers. `prefix` completes relative
/// names.
pub(crate) fn names(model: &Model, prefix: &Path) -> Vec<PathBuf> {
    myriad_tls::acme_state(model, prefix)
}

/// Reads state files. Returns the paths and contents of those that can be read; skips others, such as missing ones.
pub(crate) fn read(files: &[PathBuf]) -> Vec<(PathBuf, Vec<u8>)> {
    files.iter().filter_map(|path| fs::read(path).ok().map(|bytes| (path.clone(), bytes))).collect()
}

/// Replaces a state file atomically: after a crash it has either the old or the new contents. A missing folder is
/// created.
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
    // A leftover file of a crash, or a link of another user that must not be followed.
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
        // A leftover of a crash that another user has replaced by a link.
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
