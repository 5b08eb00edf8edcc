//! The seed that the keys of a folder are hashed with. It lies beside the sequence number, for its owner alone, since the hashes
//! are in headers, in the snapshot and in the log of purges; all processes that use the folder share it.
//!
//! Files that were written under another seed are foreign ([`Seed::tag`]); purges of keys that were, cover nothing else.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use xxhash_rust::xxh3::xxh3_64;

use super::purge_log;
use super::shelf::Shelf;
use crate::key::Seed;

/// The file; `rm -rf cache/*` passes by it.
pub(crate) fn path(root: &Path) -> PathBuf {
    root.join(".seed")
}

/// The seed of a folder; where it has none, it gets this one. `own` too where the folder cannot be used: it gets that later,
/// unless it turns out to have one.
pub(crate) fn take(root: &Path, own: Seed) -> Seed {
    let shared = || {
        Shelf::make_folder(root)?;
        let _locked = purge_log::lock(root)?;
        if let Some(seed) = read(root)? {
            return Ok(seed);
        }
        write(root, own)?;
        io::Result::Ok(own)
    };
    read(root).ok().flatten().or_else(|| shared().ok()).unwrap_or(own)
}

/// What a folder says; `None` where it has no seed, or a damaged one.
fn read(root: &Path) -> io::Result<Option<Seed>> {
    match fs::read(path(root)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        bytes => Ok(parse(&bytes?)),
    }
}

fn parse(bytes: &[u8]) -> Option<Seed> {
    let (seed, sum) = bytes.split_first_chunk::<8>()?;
    (xxh3_64(seed).to_le_bytes() == *sum).then(|| Seed(u64::from_le_bytes(*seed)))
}

fn write(root: &Path, Seed(seed): Seed) -> io::Result<()> {
    let seed = seed.to_le_bytes();
    let aside = root.join(".seed.new");
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    file.write_all(&seed)?;
    file.write_all(&xxh3_64(&seed).to_le_bytes())?;
    file.sync_all()?;
    fs::rename(&aside, path(root))?;
    File::open(root)?.sync_all()
}

impl Shelf {
    /// Has the folder say the seed of this run, where it says none. One that says another, or does not tell, is left alone:
    /// its files need that one. To be called under the lock of the log.
    pub(crate) fn keep_seed(&self) -> io::Result<()> {
        let error = match read(&self.root) {
            Ok(Some(seed)) if seed == self.seed => return Ok(()),
            Ok(None) => return write(&self.root, self.seed),
            Ok(Some(_)) => {
                self.folder.is_foreign.store(true, Relaxed);
                self.turn.leave();
                io::Error::other("it is not the seed of this run: the folder is used from the next start on")
            }
            Err(error) => error,
        };
        let kind = error.kind();
        self.failed("open()", &path(&self.root), error);
        Err(kind.into())
    }

    /// Whether the folder says the seed of this run.
    pub(crate) fn says_own_seed(&self) -> bool {
        let says_own = read(&self.root).is_ok_and(|seed| seed == Some(self.seed));
        if says_own {
            self.folder.is_foreign.store(false, Relaxed);
        }
        says_own
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::disk::tests::Folder;

    #[test]
    fn all_who_use_a_folder_share_its_seed_and_nobody_else_can_read_it() {
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
