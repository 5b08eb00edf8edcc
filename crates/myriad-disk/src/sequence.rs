//! First sequence number of a start. It is stored on disk, so that a page fetched after a restart counts as later than
//! a page fetched before, independent of the clock.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::checked_number;

/// Quantity of numbers per start: 24 bits for starts, 40 for fetches.
pub(crate) const EPOCH: u64 = 1 << 40;

/// Name of the file. `rm -rf cache/*` does not match it.
const NAME: &str = ".sequence";

/// Returns the path of the file.
pub(crate) fn path(root: &Path) -> PathBuf {
    root.join(NAME)
}

/// Takes the next epoch, after the former epoch and after `known`. Returns the number of its first fetch, and that of
/// the former epoch. The number is on disk before it is used.
pub(crate) fn begin(root: &Path, known: u64) -> io::Result<(u64, Option<u64>)> {
    let former = read(&path(root));
    let first = (former.unwrap_or(0).max(known) / EPOCH + 1).saturating_mul(EPOCH);
    write(root, first)?;
    Ok((first, former))
}

/// Returns the first number of the newest start.
pub(crate) fn read(path: &Path) -> Option<u64> {
    checked_number::parse(&fs::read(path).ok()?)
}

/// Writes the first number of a start, for example after the file was removed.
pub(crate) fn write(root: &Path, number: u64) -> io::Result<()> {
    checked_number::write(root, NAME, number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempFolder as Folder;

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
