//! Seed with which the keys of a folder are hashed, in a file that only its owner can read. Page files, the snapshot
//! and the purge log contain such hashes, so all processes that use the folder must share the seed.
//!
//! Files written under another seed are invalid ([`Seed::tag`]). A purge of keys logged under another seed covers
//! nothing.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::index::Seed;

use crate::checked_number;
use crate::files::create_folder;
use crate::purge_log;

/// Name of the file with the seed of the key hashes. It begins with a dot so that `rm -rf cache/*` does not match it.
const NAME: &str = ".seed";

/// Returns the path of the file with the seed of the key hashes.
pub(crate) fn path(root: &Path) -> PathBuf {
    root.join(NAME)
}

/// Returns the seed of a folder. A folder without a valid seed gets `own`. If the folder cannot be used now, returns
/// `own`, which is written to the folder later unless the folder has another seed then.
pub(crate) fn take(root: &Path, own: Seed) -> Seed {
    let shared = || {
        create_folder(root)?;
        let _locked = purge_log::lock(root)?;
        if let Some(seed) = read(root)? {
            return Ok(seed);
        }
        write(root, own)?;
        io::Result::Ok(own)
    };
    read(root).ok().flatten().or_else(|| shared().ok()).unwrap_or(own)
}

/// Reads the seed of a folder; `None` if the file is missing or damaged. Other read errors are returned.
pub(crate) fn read(root: &Path) -> io::Result<Option<Seed>> {
    match fs::read(path(root)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        bytes => Ok(checked_number::parse(&bytes?).map(Seed)),
    }
}

/// Writes the seed file of a folder.
pub(crate) fn write(root: &Path, Seed(seed): Seed) -> io::Result<()> {
    checked_number::write(root, NAME, seed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::testing::TempFolder as Folder;

    #[test]
    fn processes_of_one_folder_share_private_seed() {
        let folder = Folder::new();
        assert_eq!([take(folder.path(), Seed(1)), take(folder.path(), Seed(2))], [Seed(1); 2]);
        assert_eq!(fs::metadata(path(folder.path())).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(path(folder.path()), b"damaged").unwrap();
        assert_eq!([take(folder.path(), Seed(2)), take(folder.path(), Seed(3))], [Seed(2); 2]);
        assert_eq!(take(Path::new("/proc/nonexistent"), Seed(4)), Seed(4));
    }

    #[test]
    fn a_seed_that_cannot_be_read_is_not_replaced() {
        let folder = Folder::new();
        fs::create_dir(path(folder.path())).unwrap();
        assert_eq!(take(folder.path(), Seed(1)), Seed(1));
        assert!(fs::metadata(path(folder.path())).unwrap().is_dir());
        assert!(!folder.path().join(".seed.new").exists());
    }
}
