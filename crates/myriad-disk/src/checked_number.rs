//! Small file in a zone's folder that contains one number and its checksum.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

/// Parses the contents of a file with a number and its checksum. Returns `None` if the checksum does not match or the
/// length is not 16 bytes.
pub(crate) fn parse(bytes: &[u8]) -> Option<u64> {
    let (number, sum) = bytes.split_first_chunk::<8>()?;
    (xxh3_64(number).to_le_bytes() == *sum).then(|| u64::from_le_bytes(*number))
}

/// Writes `number` and its checksum to the file `name`, readable only by its owner. The file is replaced atomically,
/// through the temporary file `NAME.new`, and is durable on return.
pub(crate) fn write(root: &Path, name: &str, number: u64) -> io::Result<()> {
    let number = number.to_le_bytes();
    let unfinished = root.join(format!("{name}.new"));
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
    file.write_all(&number)?;
    file.write_all(&xxh3_64(&number).to_le_bytes())?;
    file.sync_all()?;
    fs::rename(&unfinished, root.join(name))?;
    File::open(root)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempFolder;

    #[test]
    fn what_was_written_is_read_and_what_is_damaged_or_cut_is_not() {
        let folder = TempFolder::new();
        write(folder.path(), ".number", 7 << 40).unwrap();
        let mut bytes = fs::read(folder.path().join(".number")).unwrap();
        assert_eq!(parse(&bytes), Some(7 << 40));
        assert!(!folder.path().join(".number.new").exists());
        assert_eq!((parse(&bytes[..15]), parse(&[])), (None, None));
        bytes.push(0);
        assert_eq!(parse(&bytes), None);
        bytes.pop();
        bytes[3] ^= 1;
        assert_eq!(parse(&bytes), None);
    }
}
