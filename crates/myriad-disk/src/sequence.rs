//! Sequence numbers of starts of the process, in the folder of a zone. The first number of the newest start is stored
//! on disk, so that pages fetched after a restart count as later than pages fetched before, independent of clocks.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::checked_number;

/// Quantity of sequence numbers per start: of 64 bits, 24 count starts and 40 count fetches and purges.
pub(crate) const EPOCH: u64 = 1 << 40;

/// Name of the file with the first sequence number of the newest start, hidden so that `rm -rf cache/*` does not match
/// it.
const NAME: &str = ".sequence";

/// Returns the path of the file with the first sequence number of the newest start.
pub(crate) fn path(root: &Path) -> PathBuf {
    root.join(NAME)
}

/// Reserves the numbers of a new start, above those of the former start and above `known`. Returns its first number,
/// which is then on disk, and the first number of the former start (`None` if none is stored).
pub(crate) fn begin(root: &Path, known: u64) -> io::Result<(u64, Option<u64>)> {
    let former = read(&path(root));
    let first = (former.unwrap_or(0).max(known) / EPOCH + 1).saturating_mul(EPOCH);
    write(root, first)?;
    Ok((first, former))
}

/// Reads the first sequence number of the newest start; `None` if the file is missing or damaged.
pub(crate) fn read(path: &Path) -> Option<u64> {
    checked_number::parse(&fs::read(path).ok()?)
}

/// Stores the first sequence number of a start in the folder `root`.
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
        assert_eq!(
            begin(folder.path(), 5 * EPOCH + 7).unwrap().0,
            6 * EPOCH,
            "a number that is known from elsewhere is exceeded"
        );
        assert!(begin(Path::new("/nonexistent"), 0).is_err());
    }
}
