//! Quarantine: damaged files of a zone, moved to the folder `.damaged` for analysis by administrators. Only a few are
//! retained; the oldest are deleted first.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::body_file::DamagedBody;
use crate::files::{FolderLayout, create_folder};

/// Maximum number of invalid page files retained in quarantine.
const MAX_FILES: usize = 100;
/// Maximum number of bytes of files in quarantine, unless `max_size` divided by [`PART`] is less. They do not count
/// towards `max_size`.
const MAX_BYTES: u64 = 64 << 20;
/// Divisor of `max_size` for the maximum number of bytes in quarantine.
const PART: u64 = 16;
/// Maximum number of existing files in the quarantine folder that are examined. Further files were not written by this
/// program.
const MAX_FORMER_FILES: usize = 1000;

/// Quarantined files, and files to be checked again before they are quarantined.
#[derive(Debug, Default)]
pub(crate) struct Quarantine {
    /// Quarantined files with their lengths in bytes, oldest first; `None` until the folder has been read.
    retained: Mutex<Option<VecDeque<(PathBuf, u64)>>>,
    /// Bodies found damaged while they were read in pieces, to be checked again.
    suspected: Mutex<Vec<DamagedBody>>,
}

impl Quarantine {
    pub(crate) fn suspect(&self, damage: DamagedBody) {
        self.suspected.lock().push(damage);
    }

    pub(crate) fn take_suspected(&self) -> Vec<DamagedBody> {
        std::mem::take(&mut *self.suspected.lock())
    }

    /// Moves a file into quarantine, deleting the oldest quarantined files if necessary. Returns `None` if the file is
    /// too long, is not a regular file, or cannot be moved. `max_bytes` is the zone's `max_size`.
    pub(crate) fn add(&self, files: &FolderLayout, path: &Path, max_bytes: u64) -> Option<()> {
        let most = MAX_BYTES.min(max_bytes / PART);
        let known = fs::symlink_metadata(path).ok().filter(|known| known.is_file() && known.len() <= most)?;
        let folder = files.root.join(".damaged");
        let mut retained = self.retained.lock();
        let retained = retained.get_or_insert_with(|| former_files(&folder));
        let mut bytes: u64 = retained.iter().map(|(_, bytes)| bytes).sum();
        while retained.len() >= MAX_FILES || bytes + known.len() > most {
            let (oldest, freed) = retained.pop_front()?;
            let _ = fs::remove_file(oldest);
            bytes -= freed;
        }
        let name = path.file_name()?.to_string_lossy();
        // Two files with the same name get different names in quarantine.
        let target = folder.join(format!("{name}-{:x}", files.next_number()));
        rename(path, &target, &folder).ok()?;
        retained.push_back((target, known.len()));
        Some(())
    }
}

fn rename(path: &Path, target: &Path, folder: &Path) -> io::Result<()> {
    match fs::rename(path, target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_folder(folder)?;
            fs::rename(path, target)
        }
        renamed => renamed,
    }
}

/// Returns the regular files among the first [`MAX_FORMER_FILES`] entries of the quarantine folder with their lengths
/// in bytes, oldest first; none if the folder cannot be read.
fn former_files(folder: &Path) -> VecDeque<(PathBuf, u64)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_FORMER_FILES);
    let known = entries.filter_map(|entry| {
        let known = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some((known.modified().ok()?, entry.path(), known.len()))
    });
    let mut known: Vec<_> = known.collect();
    known.sort();
    known.into_iter().map(|(_, path, bytes)| (path, bytes)).collect()
}
