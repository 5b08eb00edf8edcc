//! The seed that the keys of a folder are hashed with. It lies beside the sequence number, for its owner alone, since the hashes
//! are in headers, in the snapshot and in the log of purges; all processes that use the folder share it.
//!
//! Files that were written under another seed are foreign ([`Seed::tag`]); purges of keys that were, cover nothing else.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::files::make_folder;
use super::purge_log;
use crate::key::Seed;

/// The file; `rm -rf cache/*` passes by it.
pub(crate) fn path(root: &Path) -> PathBuf {
    root.join(".seed")
}

/// The seed of a folder; where it has none, it gets this one. `own` too where the folder cannot be used: it gets that later,
/// unless it turns out to have one.
pub(crate) fn take(root: &Path, own: Seed) -> Seed {
    let shared = || {
        make_folder(root)?;
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
pub(crate) fn read(root: &Path) -> io::Result<Option<Seed>> {
    match fs::read(path(root)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        bytes => Ok(parse(&bytes?)),
    }
}

fn parse(bytes: &[u8]) -> Option<Seed> {
    let (seed, sum) = bytes.split_first_chunk::<8>()?;
    (xxh3_64(seed).to_le_bytes() == *sum).then(|| Seed(u64::from_le_bytes(*seed)))
}

pub(crate) fn write(root: &Path, Seed(seed): Seed) -> io::Result<()> {
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

    #[test]
    fn a_seed_that_cannot_be_read_is_not_replaced() {
        let folder = Folder::new();
        fs::create_dir(path(folder.path())).unwrap();
        assert_eq!(take(folder.path(), Seed(1)), Seed(1));
        assert!(fs::metadata(path(folder.path())).unwrap().is_dir());
        assert!(!folder.path().join(".seed.new").exists());
    }
}
