//! Record of the state before `--apply`: the original files, and the created folders.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use myriad_base::digits::hexadecimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use myriad_cli::machine_files::{self, FileAttributes, below, replace};

/// Path of the record by which `myriad tune --undo` restores files.
pub(super) const PLACE: &str = "/var/lib/myriad/tune.json";
/// Maximum length of a configuration file that may be replaced, in bytes.
const FILE_BYTES: u64 = 1 << 20;

/// Files as they were before the first `--apply`, and hashes of the files that were written.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct TuneRecord {
    pub(super) files: Vec<RecordedFile>,
    /// Folders that `--apply` created, an outer folder before those in it.
    pub(super) folders: Vec<String>,
}

/// File that `--apply` has written, with the original that it replaced.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RecordedFile {
    pub(super) path: String,
    /// Original file; `None` if it did not exist.
    pub(super) before: Option<OriginalFile>,
    /// SHA-256 of the contents that were last written, in hexadecimal digits.
    pub(super) written: String,
}

/// Contents and attributes of an original file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OriginalFile {
    /// Contents in hexadecimal digits.
    bytes: String,
    mode: u32,
    uid: u32,
    gid: u32,
    /// Time of the last change, in nanoseconds since the Unix epoch.
    modified: u64,
}

impl TuneRecord {
    /// Reads the record of replaced files below the folder `root`; empty if it does not exist.
    pub(super) fn read(root: &Path) -> Result<Self, String> {
        let path = below(root, PLACE);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| format!("{}: {error}; this is not a record of myriad tune", path.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(format!("{}: {}", path.display(), myriad_cli::pidfile::reason(&error))),
        }
    }

    /// Writes the record below the folder `root` and waits until it is on disk.
    pub(super) fn write(&self, root: &Path) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        machine_files::write(root, PLACE, &text, 0o600)
    }

    /// Removes the record below the folder `root`; a missing record is not an error.
    pub(super) fn forget(root: &Path) -> io::Result<()> {
        machine_files::remove(root, PLACE)
    }

    pub(super) fn entry(&mut self, path: &str) -> Option<&mut RecordedFile> {
        self.files.iter_mut().find(|entry| entry.path == path)
    }
}

impl OriginalFile {
    /// Reads the present contents and attributes of a file; `None` if it does not exist. Returns an error if it is not
    /// a regular file or too large.
    pub(super) fn of(path: &Path) -> io::Result<Option<Self>> {
        let known = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            known => known?,
        };
        if !known.is_file() || known.len() > FILE_BYTES {
            return Err(io::Error::other("not a regular file, or too large; move it away"));
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(FILE_BYTES).read_to_end(&mut bytes)?;
        let modified = known.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Some(Self {
            bytes: hex(&bytes),
            mode: known.mode() & 0o7777,
            uid: known.uid(),
            gid: known.gid(),
            modified: u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX),
        }))
    }

    /// Restores the file with its permissions, owner (if run by root) and time.
    pub(super) fn restore(&self, path: &Path) -> io::Result<()> {
        let bytes = unhex(&self.bytes).ok_or_else(|| io::Error::other("the record is damaged"))?;
        let owner = rustix::process::geteuid().is_root().then_some((self.uid, self.gid));
        let modified = Some(UNIX_EPOCH + Duration::from_nanos(self.modified));
        replace(path, &bytes, &FileAttributes { mode: self.mode, owner, modified })
    }
}

/// Returns the SHA-256 of bytes, in hexadecimal digits.
pub(super) fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| hexadecimal(pair).filter(|_| pair.len() == 2)).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn file_comes_back_as_it_was() {
        let path = std::env::temp_dir().join(format!("myriad-before-{}", std::process::id()));
        fs::write(&path, b"a\xff\n").expect("file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("mode");
        let before = OriginalFile::of(&path).expect("read").expect("there");
        fs::write(&path, "other").expect("file");
        before.restore(&path).expect("restored");
        assert_eq!(OriginalFile::of(&path).expect("read"), Some(before));
        assert_eq!(fs::read(&path).expect("file"), b"a\xff\n");
        fs::remove_file(&path).expect("clean");
        assert_eq!(OriginalFile::of(&path).expect("none"), None);
        assert!(OriginalFile::of(&std::env::temp_dir()).is_err());
        assert_eq!((unhex("0"), unhex("zz"), unhex("00ff")), (None, None, Some(vec![0, 255])));
    }
}
