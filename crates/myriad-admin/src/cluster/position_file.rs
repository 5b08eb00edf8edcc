//! File with the position of this node in the purge log.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Maximum length of the file, in bytes.
const MAX_LENGTH: u64 = 16 << 20;

/// File with the position of this node in the purge log.
#[derive(Clone, Debug)]
pub(super) struct PositionFile(PathBuf);

impl PositionFile {
    /// Returns the file of a cluster in the folder of a zone: `.cluster-NAME`. It is removed together with the pages.
    pub(super) fn within(zone_folder: &Path, cluster: &str) -> Self {
        Self(zone_folder.join(format!(".cluster-{cluster}")))
    }

    /// Returns the contents; `None` if the file does not exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or is longer than 16 MB.
    pub(super) fn read(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::metadata(&self.0) {
            Ok(metadata) if metadata.len() > MAX_LENGTH => Err(io::Error::other("the file is too long")),
            Ok(_) => fs::read(&self.0).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces the contents, so that a crash leaves the old or the new ones. Returns when they are on the disk.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written or renamed.
    pub(super) fn write(&self, contents: &[u8]) -> io::Result<()> {
        let mut temporary = self.0.clone().into_os_string();
        temporary.push(".new");
        let temporary = PathBuf::from(temporary);
        let nofollow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .custom_flags(nofollow)
            .open(&temporary)?;
        file.write_all(contents)?;
        file.sync_all()?;
        fs::rename(&temporary, &self.0)?;
        self.0.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }

    /// Returns the path, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_in_the_zone_is_replaced() {
        let folder = std::env::temp_dir().join(format!("myriad-position-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let file = PositionFile::within(&folder, "shop");
        assert_eq!(file.path(), folder.join(".cluster-shop"));
        assert_eq!(file.read().expect("readable"), None);
        file.write(b"one").expect("written");
        file.write(b"two").expect("written");
        assert_eq!(file.read().expect("readable"), Some(b"two".to_vec()));
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1);
        fs::remove_dir_all(&folder).expect("removed");
    }
}
