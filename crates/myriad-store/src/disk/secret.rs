//! The seed that the keys of a folder are hashed with. It lies beside the sequence number, for its owner alone, since the hashes
//! are in headers, in the snapshot and in the log of purges; all processes that use the folder share it.
//!
//! Files that were written under another seed are foreign ([`Seed::tag`]); purges of keys that were, cover nothing else.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::purge_log;
use super::shelf::Shelf;
use crate::key::Seed;

/// The file; `rm -rf cache/*` passes by it.
pub(crate) fn path(root: &Path) -> PathBuf {
    root.join(".seed")
}

/// The seed of a folder; where it has none, it gets this one. `own` too where the folder cannot be used: it gets that later.
pub(crate) fn take(root: &Path, own: Seed) -> Seed {
    let shared = || {
        Shelf::make_folder(root)?;
        let _locked = purge_log::lock(root)?;
        if let Some(seed) = read(root) {
            return Ok(seed);
        }
        write(root, own)?;
        io::Result::Ok(own)
    };
    read(root).or_else(|| shared().ok()).unwrap_or(own)
}

/// Has the folder say its seed, where it does not. To be called under the lock of the log.
pub(crate) fn keep(root: &Path, seed: Seed) -> io::Result<()> {
    if read(root) == Some(seed) { Ok(()) } else { write(root, seed) }
}

fn read(root: &Path) -> Option<Seed> {
    let bytes: [u8; 16] = fs::read(path(root)).ok()?.try_into().ok()?;
    let (seed, sum) = bytes.split_at(8);
    (xxh3_64(seed).to_le_bytes() == *sum)
        .then(|| Seed(u64::from_le_bytes(seed.try_into().unwrap_or_default())))
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
}
