//! File with the position of this node in the purge log.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Maximum length of the file, in bytes.
const MAX_LENGTH: u64 = 16 << 20;

/// First bytes of the file.
const MAGIC: &[u8] = b"myriad cluster position 1\n";

/// File with the position of this node in the purge log: `.cluster-NAME` in the folder of a zone. It is removed together
/// with the pages.
#[derive(Clone, Debug)]
pub(super) struct PositionFile(PathBuf);

/// Contents of the file: [`MAGIC`], the number of zones, each zone after its length, then the position. Numbers have 32
/// bits, little-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredPosition {
    /// Zones in which all purges before the position are in effect ([`zone_identity`]). Pages of other zones may have
    /// missed some.
    pub zones: Vec<Vec<u8>>,
    /// Position, in the format of the state machine.
    pub position: Vec<u8>,
}

impl StoredPosition {
    fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&(self.zones.len() as u32).to_le_bytes());
        for zone in &self.zones {
            out.extend_from_slice(&(zone.len() as u32).to_le_bytes());
            out.extend_from_slice(zone);
        }
        out.extend_from_slice(&self.position);
        out
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (count, mut rest) = bytes.strip_prefix(MAGIC)?.split_first_chunk()?;
        let mut zones = Vec::new();
        for _ in 0..u32::from_le_bytes(*count) {
            let (length, after) = rest.split_first_chunk()?;
            let (zone, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            zones.push(zone.to_vec());
            rest = after;
        }
        Some(Self { zones, position: rest.to_vec() })
    }
}

/// Returns the text by which a position file identifies a zone: its name and folder.
pub(super) fn zone_identity(name: &str, folder: &Path) -> Vec<u8> {
    [name.as_bytes(), b"\0", folder.as_os_str().as_bytes()].concat()
}

impl PositionFile {
    /// Returns the file of a cluster in the folder of a zone.
    pub(super) fn within(zone_folder: &Path, cluster: &str) -> Self {
        Self(zone_folder.join(format!(".cluster-{cluster}")))
    }

    /// Returns the contents; `None` if the file does not exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is longer than 16 MB, or has another format.
    pub(super) fn read(&self) -> io::Result<Option<StoredPosition>> {
        let contents = match fs::metadata(&self.0) {
            Ok(metadata) if metadata.len() > MAX_LENGTH => {
                return Err(io::Error::other("the file is too long"));
            }
            Ok(_) => fs::read(&self.0)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let invalid = || io::Error::other("the file has another format");
        StoredPosition::decode(&contents).ok_or_else(invalid).map(Some)
    }

    /// Replaces the contents, so that a crash leaves the old or the new ones. Returns when they are on the disk.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written or renamed.
    pub(super) fn write(&self, contents: &StoredPosition) -> io::Result<()> {
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
        file.write_all(&contents.encode())?;
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
        let one = StoredPosition { zones: Vec::new(), position: b"one".to_vec() };
        let zones = vec![zone_identity("pages", &folder), zone_identity("", Path::new(""))];
        let two = StoredPosition { zones, position: b"two".to_vec() };
        file.write(&one).expect("written");
        file.write(&two).expect("written");
        assert_eq!(file.read().expect("readable"), Some(two.clone()));
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1);
        let bytes = two.encode();
        let header = bytes.len() - two.position.len();
        assert!((0..header).all(|end| StoredPosition::decode(&bytes[..end]).is_none()));
        fs::remove_dir_all(&folder).expect("removed");
    }
}
