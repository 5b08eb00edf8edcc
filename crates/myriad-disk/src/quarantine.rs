//! The quarantine: damaged files of a zone, kept for administrators who want to know what happened to them. A few are kept;
//! the oldest go first.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::body_file::Damage;
use crate::files::{Files, make_folder};

/// Most files that are kept.
const MOST: usize = 100;
/// Most bytes that are kept; where `max_size` divided by [`PART`] is less, that is the most. They are not part of `max_size`.
const MOST_BYTES: u64 = 64 << 20;
const PART: u64 = 16;
/// Most files of former runs that are looked at; others were not put there by this program.
const FORMER: usize = 1000;

/// The files that are kept, and those that were found damaged and are looked at again before they come here.
#[derive(Debug, Default)]
pub(crate) struct Quarantine {
    /// The oldest first, with their bytes; `None` until those of former runs are known.
    kept: Mutex<Option<VecDeque<(PathBuf, u64)>>>,
    /// Bodies that were found damaged while they were read piece by piece.
    suspected: Mutex<Vec<Damage>>,
}

impl Quarantine {
    pub(crate) fn suspect(&self, damage: Damage) {
        self.suspected.lock().push(damage);
    }

    pub(crate) fn take_suspected(&self) -> Vec<Damage> {
        std::mem::take(&mut *self.suspected.lock())
    }

    /// Moves a file into quarantine; `None` where it cannot be kept, or is too long. `max_bytes` is the limit on all files of the
    /// zone.
    pub(crate) fn keep(&self, files: &Files, path: &Path, max_bytes: u64) -> Option<()> {
        let most = MOST_BYTES.min(max_bytes / PART);
        let known = fs::symlink_metadata(path).ok().filter(|known| known.is_file() && known.len() <= most)?;
        let folder = files.root.join(".damaged");
        let mut kept = self.kept.lock();
        let kept = kept.get_or_insert_with(|| former(&folder));
        let mut bytes: u64 = kept.iter().map(|(_, bytes)| bytes).sum();
        while kept.len() >= MOST || bytes + known.len() > most {
            let (oldest, freed) = kept.pop_front()?;
            let _ = fs::remove_file(oldest);
            bytes -= freed;
        }
        let name = path.file_name()?.to_string_lossy();
        // Files that had one name at different times have different names here.
        let kept_as = folder.join(format!("{name}-{:x}", files.next_number()));
        rename(path, &kept_as, &folder).ok()?;
        kept.push_back((kept_as, known.len()));
        Some(())
    }
}

fn rename(path: &Path, kept_as: &Path, folder: &Path) -> io::Result<()> {
    match fs::rename(path, kept_as) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_folder(folder)?;
            fs::rename(path, kept_as)
        }
        renamed => renamed,
    }
}

/// Files that former runs kept, the oldest first, with their bytes.
fn former(folder: &Path) -> VecDeque<(PathBuf, u64)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(FORMER);
    let known = entries.filter_map(|entry| {
        let known = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some((known.modified().ok()?, entry.path(), known.len()))
    });
    let mut known: Vec<_> = known.collect();
    known.sort();
    known.into_iter().map(|(_, path, bytes)| (path, bytes)).collect()
}
