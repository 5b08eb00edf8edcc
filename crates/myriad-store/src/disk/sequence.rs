//! The start of a zone's sequence numbers, kept on disk so that what is fetched after a restart counts as later than
//! what was fetched before, whatever the clock says.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

/// Numbers of one start: 24 bits for starts, 40 for fetches.
pub(crate) const EPOCH: u64 = 1 << 40;

/// The file; `rm -rf cache/*` passes by it.
pub(crate) fn path(root: &Path) -> PathBuf {
    root.join(".sequence")
}

/// Takes the next epoch, beyond the one before and beyond `known`: the number that its first fetch gets, and that of the epoch
/// before. It is on disk before it is used.
pub(crate) fn begin(root: &Path, known: u64) -> io::Result<(u64, Option<u64>)> {
    let former = read(&path(root));
    let first = (former.unwrap_or(0).max(known) / EPOCH + 1).saturating_mul(EPOCH);
    write(root, first)?;
    Ok((first, former))
}

/// The first number of the newest start.
pub(crate) fn read(path: &Path) -> Option<u64> {
    let bytes: [u8; 16] = fs::read(path).ok()?.try_into().ok()?;
    let (number, sum) = bytes.split_at(8);
    (xxh3_64(number).to_le_bytes() == *sum).then(|| u64::from_le_bytes(number.try_into().unwrap_or_default()))
}

/// Writes the number of an epoch, as when somebody removed the file.
pub(crate) fn write(root: &Path, number: u64) -> io::Result<()> {
    let number = number.to_le_bytes();
    let aside = root.join(".sequence.new");
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    file.write_all(&number)?;
    file.write_all(&xxh3_64(&number).to_le_bytes())?;
    file.sync_all()?;
    fs::rename(&aside, path(root))?;
    File::open(root)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::tests::Folder;

    #[test]
    fn each_start_begins_beyond_the_one_before() {
        let folder = Folder::new();
        let numbers: Vec<_> = (0..3).map(|_| begin(folder.path(), 0).unwrap()).collect();
        assert_eq!(numbers, [(EPOCH, None), (2 * EPOCH, Some(EPOCH)), (3 * EPOCH, Some(2 * EPOCH))]);
        fs::write(path(folder.path()), b"damaged").unwrap();
        assert_eq!(begin(folder.path(), 0).unwrap(), (EPOCH, None));
        assert_eq!(begin(folder.path(), 5 * EPOCH + 7).unwrap().0, 6 * EPOCH, "what is known otherwise");
        assert!(begin(Path::new("/nonexistent"), 0).is_err());
    }
}
